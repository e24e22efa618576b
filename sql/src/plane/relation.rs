//! How two shapes lie to each other: which dimensions their interiors, boundaries and exteriors have in common (DE-9IM).
//!
//! | | is not defined (None) |
//! |---|---|
//! | touches | of points and points |
//! | crosses | if the first has areas, or the second has points alone |
//! | overlaps | of shapes of different dimensions |
//! | all but equality | if one has no points at all |
//!
//! A collection is what its parts are together, see [`normal`]. Of one that has parts of several dimensions only some
//! relations are known here ([`Failure::Mixed`]): MySQL answers others by what holds of single parts.

use format::value::Shape;
use geo::coordinate_position::CoordPos;
use geo::relate::IntersectionMatrix;
use geo::{Coord, CoordinatePosition, Relate};

use super::overlay::normal;
use super::{Failure, Pieces, Result, Stop, bounds, guarded};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Equals,
    Disjoint,
    Intersects,
    Touches,
    Crosses,
    Within,
    Contains,
    Overlaps,
}

impl Relation {
    pub fn is_in(self, matrix: &IntersectionMatrix) -> bool {
        match self {
            Relation::Equals => matrix.is_equal_topo(),
            Relation::Disjoint => matrix.is_disjoint(),
            Relation::Intersects => matrix.is_intersects(),
            Relation::Touches => matrix.is_touches(),
            Relation::Crosses => matrix.is_crosses(),
            Relation::Within => matrix.is_within(),
            Relation::Contains => matrix.is_contains(),
            Relation::Overlaps => matrix.is_overlaps(),
        }
    }

    /// Whether it is defined for such shapes.
    pub fn is_defined(self, one: &Pieces, other: &Pieces) -> bool {
        let (left, right) = (one.dimension(), other.dimension());
        match self {
            _ if one.is_empty() || other.is_empty() => self == Relation::Equals,
            Relation::Touches => left > 0 || right > 0,
            Relation::Crosses => left < 2 && right > 0,
            Relation::Overlaps => left == right,
            _ => true,
        }
    }

    /// Of points and something of a higher dimension; the points may be the first.
    pub fn is_of(self, places: &Places, points_are_first: bool) -> bool {
        let Places { inside, boundary, outside } = *places;
        match self {
            Relation::Disjoint => !inside && !boundary,
            Relation::Intersects => inside || boundary,
            Relation::Touches => !inside && boundary,
            Relation::Crosses => inside && outside,
            Relation::Within => points_are_first && inside && !outside,
            Relation::Contains => !points_are_first && inside && !outside,
            Relation::Equals | Relation::Overlaps => false,
        }
    }
}

/// Whether two shapes lie so.
pub fn holds(one: &Shape<f64>, other: &Shape<f64>, relation: Relation, stop: Stop<'_>) -> Result<Option<bool>> {
    let (is_left_mixed, is_right_mixed) = (Pieces::of(one).is_mixed(), Pieces::of(other).is_mixed());
    let (one, other) = (normal(one, stop)?, normal(other, stop)?);
    if !relation.is_defined(&one, &other) {
        return Ok(None);
    }
    let (left, right) = (one.kinds(), other.kinds());
    let holds = match relation {
        Relation::Equals => {
            let is_same = |pair: (&Pieces, &Pieces)| {
                Ok(pair.0.dimension() == pair.1.dimension() && is_so(pair.0, pair.1, relation, stop)?)
            };
            left.len() == right.len() && all(left.iter().zip(&right), is_same)?
        }
        Relation::Disjoint => !meet(&left, &right, stop)?,
        Relation::Intersects => meet(&left, &right, stop)?,
        Relation::Within if !is_right_mixed => is_within(&left, &other, stop)?,
        Relation::Contains if !is_left_mixed => is_within(&right, &one, stop)?,
        _ if !is_left_mixed && !is_right_mixed => is_so(&one, &other, relation, stop)?,
        _ => return Err(Failure::Mixed),
    };
    Ok(Some(holds))
}

/// The matrix of two shapes.
pub fn matrix(one: &Shape<f64>, other: &Shape<f64>, stop: Stop<'_>) -> Result<IntersectionMatrix> {
    match Pieces::of(one).is_mixed() || Pieces::of(other).is_mixed() {
        true => Err(Failure::Mixed),
        false => matrix_of(&normal(one, stop)?, &normal(other, stop)?, stop),
    }
}

fn matrix_of(one: &Pieces, other: &Pieces, stop: Stop<'_>) -> Result<IntersectionMatrix> {
    bounds::check(one, other, stop)?;
    let (one, other) = (one.clone().into_shape(), other.clone().into_shape());
    guarded(|| one.relate(&other))
}

fn all<T>(mut items: impl Iterator<Item = T>, mut holds: impl FnMut(T) -> Result<bool>) -> Result<bool> {
    items.try_fold(true, |so_far, item| Ok(so_far && holds(item)?))
}

fn meet(left: &[Pieces], right: &[Pieces], stop: Stop<'_>) -> Result<bool> {
    let pairs = left.iter().flat_map(|one| right.iter().map(move |other| (one, other)));
    Ok(!all(pairs, |(one, other)| is_so(one, other, Relation::Disjoint, stop))?)
}

/// Whether no piece is outside of the other shape, and one has a place in its interior.
fn is_within(pieces: &[Pieces], of: &Pieces, stop: Stop<'_>) -> Result<bool> {
    let mut is_inside = false;
    let is_covered = all(pieces.iter(), |piece| {
        if let Some(places) = Places::of(piece, of, stop)? {
            is_inside |= places.inside;
            return Ok(!places.outside);
        }
        let matrix = matrix_of(piece, of, stop)?;
        is_inside |= matrix.is_within();
        Ok(matrix.is_coveredby())
    })?;
    Ok(is_covered && is_inside)
}

/// Two shapes of one kind each.
fn is_so(one: &Pieces, other: &Pieces, relation: Relation, stop: Stop<'_>) -> Result<bool> {
    let places = match Places::of(one, other, stop)? {
        Some(places) => Some((places, true)),
        None => Places::of(other, one, stop)?.map(|places| (places, false)),
    };
    match places {
        Some((places, is_first)) => Ok(relation.is_of(&places, is_first)),
        None => Ok(relation.is_in(&matrix_of(one, other, stop)?)),
    }
}

/// Where points lie that are compared with areas: the common question, which needs no matrix.
pub struct Places {
    pub inside: bool,
    pub boundary: bool,
    pub outside: bool,
}

impl Places {
    /// None: these are not points, or those are not areas.
    fn of(points: &Pieces, areas: &Pieces, stop: Stop<'_>) -> Result<Option<Places>> {
        let are_such =
            points.dimension() == 0 && areas.dimension() == 2 && areas.lines.is_empty() && areas.points.is_empty();
        if !are_such {
            return Ok(None);
        }
        let mut places = Places { inside: false, boundary: false, outside: false };
        for at in &points.points {
            if stop() {
                return Err(Failure::Interrupted);
            }
            match position(at, areas) {
                CoordPos::Inside => places.inside = true,
                CoordPos::OnBoundary => places.boundary = true,
                CoordPos::Outside => places.outside = true,
            }
        }
        Ok(Some(places))
    }
}

/// Areas that touch have no place in common inside of both.
fn position(at: &Coord<f64>, areas: &Pieces) -> CoordPos {
    let mut position = CoordPos::Outside;
    for area in &areas.areas {
        match area.coordinate_position(at) {
            CoordPos::Inside => return CoordPos::Inside,
            CoordPos::OnBoundary => position = CoordPos::OnBoundary,
            CoordPos::Outside => {}
        }
    }
    position
}
