//! Which numbers of spatial reference systems are geographic ones of EPSG's, and in which order their axes stand.
//!
//! | SRID | |
//! |---|---|
//! | in [`LATITUDE_FIRST`] (4326, WGS 84, among them) | latitude and longitude in degrees from Greenwich |
//! | in [`OTHER`] | longitude first, or in grads, or from another meridian: not supported (1235) |
//! | 0 and all others | a plane: x and y, as projected systems have them |
//!
//! A number that no system has is a plane as well, as in MariaDB; MySQL refuses it (3548).
//!
//! Source: the EPSG Geodetic Parameter Dataset, v11, its geographic 2D systems.

use crate::error::{Error, Result};

/// The system that is meant where none is said: of GeoJSON, and of distances on a sphere.
pub const WGS_84: u32 = 4326;

/// From the first to the last of numbers.
type Range = (u16, u16);

/// Whether coordinates are latitudes and longitudes.
pub fn is_geographic(srid: u32) -> Result<bool> {
    let Some(srid) = u16::try_from(srid).ok().filter(|srid| *srid != 0) else { return Ok(false) };
    if contains(OTHER, srid) {
        return Err(Error::unsupported(format!("the spatial reference system {srid}")));
    }
    Ok(contains(LATITUDE_FIRST, srid))
}

fn contains(ranges: &[Range], srid: u16) -> bool {
    ranges.get(ranges.partition_point(|(_, last)| *last < srid)).is_some_and(|(first, _)| *first <= srid)
}

#[rustfmt::skip]
static LATITUDE_FIRST: &[Range] = &[
    (3819, 3819), (3821, 3821), (3824, 3824), (3889, 3889), (3906, 3906), (4001, 4016), (4018, 4025), (4027, 4036),
    (4041, 4047), (4052, 4055), (4075, 4075), (4081, 4081), (4120, 4176), (4178, 4185), (4188, 4216), (4218, 4289),
    (4291, 4304), (4306, 4319), (4322, 4322), (4324, 4324), (4326, 4326), (4463, 4463), (4470, 4470), (4475, 4475),
    (4483, 4483), (4490, 4490), (4555, 4555), (4558, 4558), (4600, 4646), (4657, 4765), (4823, 4824), (5013, 5013),
    (5132, 5132), (5228, 5228), (5233, 5233), (5246, 5246), (5252, 5252), (5264, 5264), (5324, 5324), (5340, 5340),
    (5354, 5354), (5360, 5360), (5365, 5365), (5371, 5371), (5373, 5373), (5381, 5381), (5393, 5393), (5451, 5451),
    (5464, 5464), (5467, 5467), (5489, 5489), (5524, 5524), (5527, 5527), (5546, 5546), (5561, 5561), (5593, 5593),
    (5681, 5681), (5886, 5886), (6135, 6135), (6207, 6207), (6311, 6311), (6318, 6318), (6322, 6322), (6325, 6325),
    (6365, 6365), (6668, 6668), (6706, 6706), (6783, 6783), (6881, 6883), (6892, 6892), (6894, 6894), (6980, 6980),
    (6983, 6983), (6987, 6987), (6990, 6990), (7073, 7073), (7136, 7136), (7139, 7139), (7373, 7373), (7683, 7683),
    (7686, 7686), (7798, 7798), (7844, 7844), (7881, 7881), (7886, 7886), (8086, 8086), (8232, 8232), (8237, 8237),
    (8240, 8240), (8246, 8246), (8249, 8249), (8252, 8252), (8255, 8255), (8351, 8351), (8427, 8428), (8431, 8431),
    (8545, 8545), (8685, 8685), (8694, 8694), (8699, 8699), (8818, 8818), (8860, 8860), (8888, 8888), (8900, 8900),
    (8907, 8907), (8949, 8949), (8972, 9000), (9003, 9003), (9006, 9006), (9009, 9009), (9012, 9012), (9014, 9014),
    (9017, 9017), (9019, 9019), (9053, 9057), (9059, 9069), (9072, 9072), (9075, 9075), (9140, 9140), (9148, 9148),
    (9153, 9153), (9184, 9184), (9248, 9248), (9251, 9251), (9253, 9253), (9294, 9294), (9299, 9299), (9309, 9309),
    (9333, 9333), (9364, 9364), (9372, 9372), (9380, 9380), (9384, 9384), (9403, 9403), (9453, 9453), (9470, 9470),
    (9474, 9475), (9547, 9547), (9696, 9696), (9702, 9702), (9739, 9739), (9755, 9755), (9758, 9758), (9763, 9763),
    (9777, 9777), (9782, 9782), (9866, 9866), (9871, 9871), (9939, 9939), (9964, 9964), (9969, 9969), (9974, 9974),
    (9990, 9990), (10158, 10158), (10175, 10175), (10178, 10178), (10185, 10185), (10191, 10191), (10196, 10196),
    (10204, 10204), (10209, 10209), (10214, 10214), (10219, 10219), (10224, 10224), (10229, 10229), (10237, 10237),
    (10249, 10249), (10252, 10252), (10256, 10256), (10260, 10260), (10265, 10265), (10268, 10268), (10272, 10272),
    (10277, 10277), (10284, 10284), (10299, 10299), (10305, 10305), (10310, 10310), (10328, 10328), (10345, 10346),
    (10414, 10414), (10468, 10468), (10475, 10475), (10571, 10571), (10606, 10606), (10623, 10623), (10628, 10628),
    (10671, 10671), (20033, 20033), (20041, 20041), (20046, 20046),
];

#[rustfmt::skip]
static OTHER: &[Range] = &[
    (4801, 4811), (4813, 4821), (4901, 4904), (5229, 5229), (7035, 7035), (7037, 7037), (7039, 7039), (7041, 7041),
    (7084, 7084), (7086, 7086), (7088, 7088), (7133, 7133), (8042, 8043), (8449, 8449), (8902, 8902), (9779, 9779),
    (9784, 9784), (10307, 10307), (10312, 10312), (10673, 10673),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order_and_apart() {
        for ranges in [LATITUDE_FIRST, OTHER] {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
        for (first, last) in OTHER {
            assert!((*first..=*last).all(|srid| !contains(LATITUDE_FIRST, srid)));
        }
    }

    #[test]
    fn systems_are_told_apart() {
        for geographic in [4326, 4269, 4258, 6668, 4001, 20046] {
            assert!(is_geographic(geographic).is_ok_and(|is| is), "{geographic}");
        }
        for plane in [0, 1, 3857, 4087, 32633, 65535, 65536 + 4326, u32::MAX] {
            assert!(is_geographic(plane).is_ok_and(|is| !is), "{plane}");
        }
        assert!(is_geographic(4807).is_err(), "in grads from Paris");
        assert!(is_geographic(7035).is_err(), "longitude first");
    }
}
