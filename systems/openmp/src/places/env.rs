//! What the environment says of places, and of showing them.
use super::list;
use crate::icv::ProcBind;
use crate::variables::{self, VariableReader};
use foregather_machine::CpuId;

/// How threads are shown if no other format is asked for.
const FORMAT: &str = "level %L thread %i affinity %A";

/// What the environment says of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceSettings {
    /// By which policy members go to places, from the outermost regions on; `False` alone if threads are not
    /// bound.
    pub binds: Vec<ProcBind>,
    /// Whether `binds` has an entry for each nesting depth instead of one for all.
    pub is_list: bool,
    /// The places; none if threads are not bound.
    pub places: Vec<Vec<CpuId>>,
    /// Whether the affinity of the threads of a region is displayed when the region begins
    /// (`OMP_DISPLAY_AFFINITY`).
    pub shown: bool,
    /// How they are shown (`OMP_AFFINITY_FORMAT`).
    pub format: String,
    /// `GOMP_CPU_AFFINITY` as it was written.
    pub cpu_affinity: Option<String>,
}

impl PlaceSettings {
    /// Reads the variables, for a program that may use the `allowed` processors.
    pub(crate) fn read(reader: &mut VariableReader<'_>, allowed: &[CpuId]) -> Self {
        const LIST: &str =
            "threads, cores, ll_caches, numa_domains, sockets, or a list such as {0,1}:4:2, of processors that there are";
        let binds = reader.get("OMP_PROC_BIND", "true, false, or primary, close and spread, a comma between", binds);
        let some = |places: Option<Vec<Vec<CpuId>>>| places.filter(|places| !places.is_empty());
        let named = reader.get("OMP_PLACES", LIST, |text| some(list::named(text, allowed)));
        let older = reader.get("GOMP_CPU_AFFINITY", "processors that there are, such as 0 3 4-15:2", |text| {
            some(list::cpu_affinity(text, allowed))
        });
        let cpu_affinity = older.as_ref().and_then(|_| reader.raw("GOMP_CPU_AFFINITY"));
        let asked = named.or(older);
        // Places without a policy are a wish to be bound, a policy without places one for all cores.
        let binds = binds.unwrap_or_else(|| vec![if asked.is_some() { ProcBind::True } else { ProcBind::False }]);
        let (binds, places) = if binds[0] == ProcBind::False {
            (vec![ProcBind::False], Vec::new())
        } else {
            (binds, asked.unwrap_or_else(|| list::named("cores", allowed).unwrap_or_default()))
        };
        Self {
            is_list: binds.len() > 1,
            binds,
            places,
            shown: reader.get("OMP_DISPLAY_AFFINITY", "true or false", variables::truth).unwrap_or(false),
            format: reader.raw("OMP_AFFINITY_FORMAT").unwrap_or_else(|| FORMAT.to_owned()),
            cpu_affinity,
        }
    }
}

/// One word for all depths, or the policies of each.
fn binds(text: &str) -> Option<Vec<ProcBind>> {
    match variables::truth(text) {
        Some(bound) => Some(vec![if bound { ProcBind::True } else { ProcBind::False }]),
        None => variables::list(text, |one| {
            let names = [
                ("master", ProcBind::Primary),
                ("primary", ProcBind::Primary),
                ("close", ProcBind::Close),
                ("spread", ProcBind::Spread),
            ];
            names.into_iter().find(|(name, _)| one.eq_ignore_ascii_case(name)).map(|(_, bind)| bind)
        }),
    }
}
