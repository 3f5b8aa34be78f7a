//! A property: over random tables, the look-up finds the row that a linear search by the rules finds.

use scurry_service_table::{MeasureKey, ServiceRow, ServiceTable, UnknownSubscriber};

const IDS: [&str; 8] = [
    "32251@3gpp.org",
    "1.2.8.32251@3gpp.org",
    "32251@",
    "8.32251@example.com",
    "32260@3gpp.org",
    "own",
    "x.own",
    "",
];
const CONTEXTS: [Option<&str>; 7] = [
    None,
    Some("32251@3gpp.org"),
    Some("32251@"),
    Some("32251@example.com"),
    Some("32260@"),
    Some("own"),
    Some("x.own"),
];

/// A generator (xorshift) whose seed is one number.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("64 bits") % bound
    }

    fn number(&mut self) -> Option<u32> {
        [None, Some(0), Some(1), Some(2), Some(u32::MAX)][self.below(5)]
    }
}

/// Returns how exactly a pattern matches an identifier: 0 is any.
fn exactness(pattern: Option<&str>, id: &str) -> Option<u8> {
    let Some(pattern) = pattern else { return Some(0) };
    let Some((pattern_service, pattern_domain)) = pattern.split_once('@') else {
        return (pattern == id).then_some(2);
    };
    let (service, domain) = id.split_once('@')?;
    if service.split('.').next_back() != Some(pattern_service) {
        return None;
    }
    if pattern_domain == domain {
        return Some(2);
    }
    pattern_domain.is_empty().then_some(1)
}

fn exact(row: Option<u32>, asked: Option<u32>) -> Option<bool> {
    match row {
        None => Some(false),
        Some(_) => (row == asked).then_some(true),
    }
}

fn rank(row: &ServiceRow, id: &str, asked: [Option<u32>; 2]) -> Option<(u8, bool, bool)> {
    let context = exactness(row.context.as_deref(), id)?;
    Some((context, exact(row.rating_group, asked[0])?, exact(row.service, asked[1])?))
}

#[test]
fn the_lookup_finds_what_a_linear_search_finds() {
    let (mut found, mut missed) = (0_u32, 0_u32);
    for seed in 1..=400_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut rows: Vec<ServiceRow> = Vec::new();
        for number in 1..=1 + random.below(40) {
            let row = ServiceRow {
                context: CONTEXTS[random.below(CONTEXTS.len())].map(str::to_owned),
                rating_group: random.number(),
                service: random.number(),
                measure: Some(MeasureKey::Units),
                // Shows which row it is.
                grant: Some(i64::try_from(number).expect("few")),
                validity_s: Some(1 + u32::try_from(random.below(1000)).expect("few")),
                ..ServiceRow::default()
            };
            let key = |row: &ServiceRow| (row.context.clone(), row.rating_group, row.service);
            if rows.iter().all(|other| key(other) != key(&row)) {
                rows.push(row);
            }
        }
        let table = ServiceTable::new(&rows, &[], UnknownSubscriber::default()).expect("good rows");
        for id in IDS {
            let of_context =
                rows.iter().filter(|row| exactness(row.context.as_deref(), id).is_some());
            let longest = of_context.filter_map(|row| row.validity_s).max().unwrap_or(600);
            assert_eq!(table.session_validity_s(id), longest, "seed {seed}: {id}");
            for _ in 0..20 {
                let asked = [random.number(), random.number()];
                let ranked = rows.iter().filter_map(|row| Some((rank(row, id, asked)?, row.grant)));
                let expected = ranked.max_by_key(|(rank, _)| *rank).and_then(|(_, grant)| grant);
                let said = table.find(id, asked[0], asked[1]).map(|terms| terms.grant);
                assert_eq!(said, expected, "seed {seed}: {id:?} {asked:?}");
                if said.is_some() { found += 1 } else { missed += 1 }
            }
        }
    }
    assert!(found > 10_000 && missed > 10_000, "{found} found, {missed} missed");
}
