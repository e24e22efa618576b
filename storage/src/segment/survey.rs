//! Reads back all of a tablespace's bookkeeping and reports where it is inconsistent.
//!
//! The survey trusts nothing: every list is followed from its base with a bound, every extent is looked at in its
//! descriptor, and both views have to agree.

use format::ids::{PageId, PageNo, SpaceId};
use format::page::space::{self as layout, Address, Base, Node};
use format::page::{get_u32, get_u64};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Segment;
use crate::error::{Error, Result};
use crate::store::Store;

/// What the bookkeeping of a tablespace says.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Pages of the file, as page 0 says.
    pub size: u32,
    pub flags: u32,
    pub segments: Vec<SegmentSurvey>,
    /// Pages that are allocated but belong to no segment: descriptor, bitmap and inode pages.
    pub fixed: Vec<PageNo>,
    /// Pages that are free, or wait for use in an extent of a segment.
    pub free: u64,
    /// Inconsistencies.
    pub errors: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct SegmentSurvey {
    pub segment: Segment,
    pub id: u64,
    /// Pages in use.
    pub pages: Vec<PageNo>,
}

/// What is wrong with a tablespace is told in so many lines at most.
const ERRORS_MAX: usize = 1000;

/// Surveys a tablespace. No thread may change it meanwhile.
pub fn survey(store: &Store, space: SpaceId) -> Result<Survey> {
    let mut surveyor = Surveyor { store, space, page_bytes: store.page_bytes(), survey: Survey::default(), untold: 0 };
    surveyor.run()?;
    if surveyor.untold > 0 {
        surveyor.survey.errors.push(format!("tablespace {space}: {} more", surveyor.untold));
    }
    Ok(surveyor.survey)
}

struct Surveyor<'s> {
    store: &'s Store,
    space: SpaceId,
    page_bytes: usize,
    survey: Survey,
    /// Complaints beyond [`ERRORS_MAX`].
    untold: u64,
}

/// An extent as its descriptor has it.
struct ExtentFacts {
    state: u32,
    segment: u64,
    used: Vec<PageNo>,
    /// The list in which it was found.
    listed: u32,
    listed_by: u64,
}

impl Surveyor<'_> {
    fn read(&self, page: PageNo) -> Result<crate::store::SharedGuard<'_>> {
        self.store.read(PageId::new(self.space, page))
    }

    fn complain(&mut self, what: String) {
        if self.survey.errors.len() < ERRORS_MAX {
            self.survey.errors.push(format!("tablespace {}: {what}", self.space));
        } else {
            self.untold += 1;
        }
    }

    fn run(&mut self) -> Result<()> {
        let header = self.read(layout::HEADER_PAGE)?.to_vec();
        let extent_pages = layout::extent_pages(self.page_bytes) as u32;
        self.survey.size = layout::size(&header);
        self.survey.flags = layout::flags(&header).0;
        let mut free_limit = layout::free_limit(&header);
        if get_u32(&header, layout::SPACE) != self.space.0 {
            self.complain("page 0 names another tablespace".into());
        }
        let in_file = self.store.space_pages(self.space)?.0;
        if self.survey.size > in_file {
            self.complain(format!("page 0 says {} pages, the file is shorter", self.survey.size));
        }
        if free_limit > self.survey.size.max(extent_pages) || !free_limit.is_multiple_of(extent_pages) {
            return Err(Error::corrupt_page(PageId::new(self.space, PageNo(0)), "free limit"));
        }

        // What is behind the file cannot be in use, and a damaged number must not take for ever.
        free_limit = free_limit.min(in_file.max(extent_pages).next_multiple_of(extent_pages));
        let mut extents = self.extents(free_limit)?;
        for (list, state) in [
            (layout::FREE_LIST, layout::STATE_FREE),
            (layout::FREE_FRAGMENT_LIST, layout::STATE_FREE_FRAGMENT),
            (layout::FULL_FRAGMENT_LIST, layout::STATE_FULL_FRAGMENT),
        ] {
            for first in self.extent_list(&Base::read(&header, list))? {
                self.list_extent(&mut extents, first, state, 0);
            }
        }

        let mut owned: FxHashSet<PageNo> = FxHashSet::default();
        for inode_page in self.inode_pages(&header)? {
            owned.insert(inode_page);
            self.survey.fixed.push(inode_page);
            self.segments(inode_page, &mut extents, &mut owned)?;
        }
        self.balance(&header, &extents, &mut owned);
        Ok(())
    }

    /// Descriptors of all extents below the free limit, by their first page.
    fn extents(&self, free_limit: u32) -> Result<FxHashMap<PageNo, ExtentFacts>> {
        let extent_pages = layout::extent_pages(self.page_bytes) as u32;
        let mut extents = FxHashMap::default();
        for first in (0..free_limit).step_by(extent_pages as usize).map(PageNo) {
            let holder = self.read(layout::descriptor_page(self.page_bytes, first))?;
            let descriptor = layout::descriptor_offset(self.page_bytes, first);
            let is_used = |&index: &u32| !layout::is_page_free(&holder, descriptor, index as usize);
            let facts = ExtentFacts {
                state: get_u32(&holder, descriptor + layout::EXTENT_STATE),
                segment: get_u64(&holder, descriptor + layout::EXTENT_SEGMENT),
                used: (0..extent_pages).filter(is_used).map(|index| PageNo(first.0 + index)).collect(),
                listed: layout::STATE_NONE,
                listed_by: 0,
            };
            extents.insert(first, facts);
        }
        Ok(extents)
    }

    /// Follows a list, both ways at once: each node's predecessor has to be the one before.
    fn addresses(&mut self, base: &Base) -> Result<Vec<Address>> {
        let mut addresses = Vec::new();
        let mut previous = Address::NULL;
        let mut next = base.first;
        while !next.is_null() && addresses.len() <= base.length as usize {
            if usize::from(next.offset) + layout::NODE_BYTES > self.page_bytes {
                self.complain(format!("a list leads to offset {} of page {}", next.offset, next.page));
                break;
            }
            let node = Node::read(&self.read(next.page)?, usize::from(next.offset));
            if node.prev != previous {
                self.complain(format!("the node at {}:{} does not know its predecessor", next.page, next.offset));
            }
            addresses.push(next);
            previous = next;
            next = node.next;
        }
        if addresses.len() != base.length as usize || base.last != previous {
            self.complain(format!("a list of length {} has {} nodes or another end", base.length, addresses.len()));
        }
        Ok(addresses)
    }

    fn extent_list(&mut self, base: &Base) -> Result<Vec<PageNo>> {
        let page_bytes = self.page_bytes;
        let addresses = self.addresses(base)?;
        let extents = addresses.iter().map(|node| layout::extent_of_node(page_bytes, node.page, node.offset));
        let extents: Vec<_> = extents.flatten().collect();
        if extents.len() != addresses.len() {
            self.complain("a list of extents leads elsewhere".into());
        }
        Ok(extents)
    }

    fn list_extent(&mut self, extents: &mut FxHashMap<PageNo, ExtentFacts>, first: PageNo, state: u32, segment: u64) {
        let complaint = match extents.get_mut(&first) {
            None => Some(format!("extent {first} is listed but not described")),
            Some(facts) if facts.listed != layout::STATE_NONE => Some(format!("extent {first} is listed twice")),
            Some(facts) => {
                facts.listed = state;
                facts.listed_by = segment;
                None
            }
        };
        if let Some(complaint) = complaint {
            self.complain(complaint);
        }
    }

    fn inode_pages(&mut self, header: &[u8]) -> Result<Vec<PageNo>> {
        let mut pages = Vec::new();
        for list in [layout::INODES_FREE_LIST, layout::INODES_FULL_LIST] {
            pages.extend(self.addresses(&Base::read(header, list))?.into_iter().map(|address| address.page));
        }
        Ok(pages)
    }

    fn segments(
        &mut self,
        inode_page: PageNo,
        extents: &mut FxHashMap<PageNo, ExtentFacts>,
        owned: &mut FxHashSet<PageNo>,
    ) -> Result<()> {
        let page = self.read(inode_page)?.to_vec();
        let extent_pages = layout::extent_pages(self.page_bytes);
        for slot in 0..layout::inodes_per_page(self.page_bytes) {
            let at = layout::inode_offset(self.page_bytes, slot);
            let id = get_u64(&page, at + layout::INODE_SEGMENT_ID);
            if id == 0 {
                continue;
            }
            if get_u32(&page, at + layout::INODE_MAGIC) != layout::INODE_MAGIC_VALUE {
                self.complain(format!("segment {id} has no magic number"));
            }
            let mut pages = Vec::new();
            for fragment in 0..layout::inode_fragments(self.page_bytes) {
                let single = PageNo(get_u32(&page, at + layout::INODE_FRAGMENTS + fragment * 4));
                if !single.is_null() {
                    pages.push(single);
                }
            }
            let mut not_full_used = 0;
            for (list, range) in [
                (layout::INODE_FREE_LIST, 0..1),
                (layout::INODE_NOT_FULL_LIST, 1..extent_pages),
                (layout::INODE_FULL_LIST, extent_pages..extent_pages + 1),
            ] {
                for first in self.extent_list(&Base::read(&page, at + list))? {
                    self.list_extent(extents, first, layout::STATE_SEGMENT, id);
                    let used = extents.get(&first).map_or(&[][..], |facts| &facts.used).to_vec();
                    if !range.contains(&used.len()) {
                        self.complain(format!("extent {first} with {} used pages is in the wrong list", used.len()));
                    }
                    if list == layout::INODE_NOT_FULL_LIST {
                        not_full_used += used.len();
                    }
                    pages.extend(used);
                }
            }
            let counted = get_u32(&page, at + layout::INODE_NOT_FULL_USED) as usize;
            if counted != not_full_used {
                self.complain(format!("segment {id} counts {counted} pages, its lists have {not_full_used}"));
            }
            for &page in &pages {
                if !owned.insert(page) {
                    self.complain(format!("page {page} belongs to two owners"));
                }
            }
            let segment = Segment { space: self.space, inode_page, inode_offset: at as u16 };
            self.survey.segments.push(SegmentSurvey { segment, id, pages });
        }
        Ok(())
    }

    /// Compares the used pages with the owned ones.
    fn balance(&mut self, header: &[u8], extents: &FxHashMap<PageNo, ExtentFacts>, owned: &mut FxHashSet<PageNo>) {
        let extent_pages = layout::extent_pages(self.page_bytes);
        let mut shared_used = 0;
        let mut used = 0;
        let mut firsts: Vec<_> = extents.keys().copied().collect();
        firsts.sort();
        for first in firsts {
            let facts = &extents[&first];
            used += facts.used.len() as u64;
            if facts.listed != facts.state {
                self.complain(format!("extent {first} is in state {} and in list {}", facts.state, facts.listed));
            }
            if facts.state == layout::STATE_SEGMENT && facts.segment != facts.listed_by {
                self.complain(format!("extent {first} is of segment {}, not {}", facts.segment, facts.listed_by));
            }
            let wrong = match facts.state {
                layout::STATE_FREE => !facts.used.is_empty(),
                layout::STATE_FREE_FRAGMENT => facts.used.is_empty() || facts.used.len() == extent_pages,
                layout::STATE_FULL_FRAGMENT => facts.used.len() != extent_pages,
                _ => false,
            };
            if wrong {
                self.complain(format!("extent {first} in state {} has {} used pages", facts.state, facts.used.len()));
            }
            if facts.state == layout::STATE_FREE_FRAGMENT {
                shared_used += facts.used.len() as u32;
            }
            if first == layout::descriptor_page(self.page_bytes, first) {
                for fixed in [first, PageNo(first.0 + 1)] {
                    owned.insert(fixed);
                    self.survey.fixed.push(fixed);
                }
            }
            for page in &facts.used {
                if !owned.remove(page) {
                    self.complain(format!("page {page} is in use, but nobody's"));
                }
            }
        }
        let mut lost: Vec<_> = owned.drain().collect();
        lost.sort();
        for page in lost {
            self.complain(format!("page {page} belongs to somebody, but is free"));
        }
        if get_u32(header, layout::FRAGMENT_USED) != shared_used {
            self.complain(format!("shared extents with room have {shared_used} used pages, page 0 says otherwise"));
        }
        self.survey.fixed.sort();
        self.survey.free = u64::from(self.survey.size).saturating_sub(used);
    }
}
