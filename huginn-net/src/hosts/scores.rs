//! Score history of a host: p0f's detection of shared addresses.

use std::mem;

use serde::{Deserialize, Serialize};

use super::Conclusion;
use crate::observation::{ChangeObservation, Reasons};

/// Number of scores in the history of a host.
const SCORE_HISTORY: usize = 32;

/// Groups as (minimum score, maximum count): more scores of a group mean a shared address. A score also counts in the
/// groups with a lower minimum.
const GROUPS: [(u8, u8); 4] = [(6, 2), (3, 4), (2, 6), (1, 8)];

/// The latest scores of a host in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Scores {
    pub(super) latest: [u8; SCORE_HISTORY],
    pub(super) next: u8,
}

impl Scores {
    /// Adds a score; a score of 0 only displaces the oldest score. `gathered` collects the reasons of both roles since the
    /// last sharing report of the host.
    pub(super) fn add(&mut self, score: u8, reasons: Reasons, gathered: &mut Reasons) -> Option<Conclusion> {
        if let Some(slot) = self.latest.get_mut(usize::from(self.next)) {
            *slot = score;
        }
        self.next = self.next.wrapping_add(1) % 32;
        *gathered = gathered.with(reasons);
        if score == 0 {
            return None;
        }
        let hits = GROUPS.map(|(least, _)| self.count(least));
        if hits.iter().zip(GROUPS).any(|(hits, (_, most))| *hits > most) {
            *self = Self::default();
            return Some(Conclusion::Shared(ChangeObservation::Scores {
                reasons: mem::take(gathered),
                hits,
            }));
        }
        (score > 1).then_some(Conclusion::Changed(ChangeObservation::Scores { reasons, hits }))
    }

    fn count(&self, least: u8) -> u8 {
        u8::try_from(self.latest.iter().filter(|score| **score >= least).count()).unwrap_or(u8::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(reasons: Reasons, hits: [u8; 4]) -> Conclusion {
        Conclusion::Changed(ChangeObservation::Scores { reasons, hits })
    }

    fn shared(reasons: Reasons, hits: [u8; 4]) -> Conclusion {
        Conclusion::Shared(ChangeObservation::Scores { reasons, hits })
    }

    /// The conclusion after each score.
    fn conclusions(scores: &[u8]) -> Vec<Option<Conclusion>> {
        let mut all = Scores::default();
        scores.iter().map(|score| all.add(*score, Reasons::TTL, &mut Reasons::default())).collect()
    }

    #[test]
    fn scores_count_in_their_group_and_below() {
        let ttl = Reasons::TTL;
        assert_eq!(
            conclusions(&[8, 5, 1, 2, 0, 6, 8]),
            [
                Some(changed(ttl, [1, 1, 1, 1])),
                Some(changed(ttl, [1, 2, 2, 2])),
                None,
                Some(changed(ttl, [1, 2, 3, 4])),
                None,
                Some(changed(ttl, [2, 3, 4, 5])),
                Some(shared(ttl, [3, 4, 5, 6])),
            ]
        );
    }

    #[test]
    fn groups_have_limits_and_sharing_resets_scores() {
        for (score, most) in [(6, 2), (5, 4), (3, 4), (2, 6), (1, 8)] {
            let row = conclusions(&[score; 10]);
            let is_shared: Vec<bool> =
                row.iter().map(|one| matches!(one, Some(Conclusion::Shared(_)))).collect();
            let first = is_shared.iter().position(|is_shared| *is_shared);
            assert_eq!(first, Some(most), "{score}");
            assert!(is_shared.get(most + 1) != Some(&true), "{score}");
        }
    }

    #[test]
    fn only_latest_32_scores_count() {
        let mut scores = vec![5; 4];
        scores.extend([0; 29]);
        scores.push(5);
        assert_eq!(conclusions(&scores).pop(), Some(Some(changed(Reasons::TTL, [0, 3, 3, 3]))));
    }

    #[test]
    fn sharing_reports_reasons_of_all_scores() {
        let (mut client, mut server) = (Scores::default(), Scores::default());
        let mut gathered = Reasons::NONE;
        client.add(8, Reasons::VIA, &mut gathered);
        client.add(0, Reasons::PORT, &mut gathered);
        client.add(8, Reasons::DATE, &mut gathered);
        server.add(8, Reasons::SERVER, &mut gathered);
        let all = Reasons::VIA.with(Reasons::PORT).with(Reasons::DATE).with(Reasons::SERVER);
        assert_eq!(client.add(8, Reasons::VIA, &mut gathered), Some(shared(all, [3, 3, 3, 3])));
        assert_eq!(gathered, Reasons::NONE);
        let counted_apart = changed(Reasons::TTL, [1, 1, 2, 2]);
        assert_eq!(server.add(2, Reasons::TTL, &mut gathered), Some(counted_apart));
    }
}
