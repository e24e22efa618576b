//! INSTALL COMPONENT and UNINSTALL COMPONENT; HELP.

use super::super::Parser;
use super::super::ast::Statement;
use crate::error::Result;

impl Parser<'_> {
    /// From INSTALL or UNINSTALL on: COMPONENT 'urn', ...
    pub(in crate::parser) fn components(&mut self) -> Result<Statement> {
        let install = self.is_word("INSTALL");
        self.advance();
        if !self.take_word("COMPONENT") {
            self.skip_rest()?;
            return Ok(match install {
                true => Statement::Unsupported("INSTALL PLUGIN".into()),
                false => Statement::Unsupported("UNINSTALL PLUGIN".into()),
            });
        }
        Ok(Statement::Components { install, urns: self.list(Self::text)? })
    }

    /// Behind HELP.
    pub(in crate::parser) fn help(&mut self) -> Result<Statement> {
        self.text()?;
        Ok(Statement::Help)
    }
}
