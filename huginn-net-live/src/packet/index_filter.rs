//! Programs of classic BPF that select frames by the index of their interface.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SKF_AD_IFINDEX, SKF_AD_OFF, sock_filter,
};

use crate::limits::MAX_FILTERED_INTERFACES;

/// What a filter returns to keep a frame whole.
const WHOLE: u32 = u32::MAX;

/// Leaves out the frames of these interfaces, or of the first [`MAX_FILTERED_INTERFACES`] of them.
pub(super) fn without(indexes: &[u32]) -> Vec<sock_filter> {
    program(indexes.get(..MAX_FILTERED_INTERFACES).unwrap_or(indexes), [0, WHOLE])
}

/// Keeps the frames of one interface.
pub(super) fn only(index: u32) -> Vec<sock_filter> {
    program(&[index], [WHOLE, 0])
}

/// Returns one number for the interfaces of a list, the other one for others.
fn program(indexes: &[u32], [listed, others]: [u32; 2]) -> Vec<sock_filter> {
    let load = step(BPF_LD | BPF_W | BPF_ABS, (SKF_AD_OFF.wrapping_add(SKF_AD_IFINDEX)).cast_unsigned());
    // Each condition skips those after it, and the return of others.
    let skipped = (0..=u8::MAX).skip(1).take(indexes.len()).collect::<Vec<_>>();
    let conditions = indexes.iter().zip(skipped.into_iter().rev());
    let conditions =
        conditions.map(|(index, jt)| sock_filter { jt, ..step(BPF_JMP | BPF_JEQ | BPF_K, *index) });
    let returns = [others, listed].map(|value| step(BPF_RET | BPF_K, value));
    [load].into_iter().chain(conditions).chain(returns).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "operation codes have 8 bits")]
fn step(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;

    /// Runs a program, as the kernel does, for a frame of an interface.
    fn run(program: &[sock_filter], interface: u32) -> u32 {
        let mut at = 1;
        loop {
            let step = program[at];
            at += 1;
            if u32::from(step.code) == BPF_RET | BPF_K {
                return step.k;
            }
            at += usize::from(if step.k == interface { step.jt } else { step.jf });
        }
    }

    #[test]
    fn listed_interfaces_are_left_out() {
        for count in [0, 1, 2, 250, 400] {
            let indexes: Vec<u32> = (10..10 + count).collect();
            let program = without(&indexes);
            assert!(program.len() <= MAX_FILTERED_INTERFACES + 3);
            for index in 0..500 {
                let is_left_out = (10..10 + count.min(250)).contains(&index);
                assert_eq!(run(&program, index), if is_left_out { 0 } else { WHOLE }, "{index} of {count}");
            }
        }
    }

    #[test]
    fn one_interface_is_kept() {
        assert_eq!([6, 7, 8].map(|index| run(&only(7), index)), [0, WHOLE, 0]);
    }
}
