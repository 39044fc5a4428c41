//! The costs of a NIC: its processor's work, its own, and the wire's. Each number says whether it is
//! sourced.
use super::notice::Notice;
use foregather_machine::{FabricCosts, Limits, LogGp, Nanos, Slope};

/// The price of pages made known to a NIC, or forgotten by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The price of the call.
    pub call: Nanos,
    /// The price of each page beyond the first.
    pub page: Nanos,
}

impl Paging {
    const FREE: Self = Self { call: Nanos::ZERO, page: Nanos::ZERO };
}

/// A NIC, its wire, and the switch between the nodes. *Sourced* and *fitted* refer to the values of the two
/// presets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Processor time to write a descriptor to send and to ring the doorbell. VIA: fitted (part of the 35 us
    /// of an empty message).
    pub post: Nanos,
    /// Processor time to post one receive, which every message needs. VIA: fitted, as `post`.
    pub receive: Nanos,
    /// Processor time to take one completion. VIA: fitted, as `post`.
    pub reap: Nanos,
    /// The time of a processor to copy one byte, in picoseconds. VIA: fitted, 100 MB/s, a common processor
    /// of 1999.
    pub copy_ps: u64,
    /// Processor time of the interrupt that wakes a sleeping waiter. Fitted: a few thousand cycles of 1999;
    /// no figure depends on it where waiters poll.
    pub interrupt: Nanos,
    /// How a sleeping waiter learns of an event; `interrupt` is the price either way.
    pub notice: Notice,
    /// The NIC's time for each fragment, on either side, beside the wire. VIA: fitted, part of the 35 us.
    pub fragment: Nanos,
    /// The time between two messages of one NIC on the wire. LogGP: `g`.
    pub gap: Nanos,
    /// From the end of a NIC's sending until the other's receiving, for no bytes. LogGP: `L`; VIA: fitted,
    /// the rest of the 35 us.
    pub latency: Nanos,
    /// One byte on the wire, in picoseconds. VIA: sourced, 100 Mbit/s. LogGP: `G`.
    pub wire_ps: u64,
    /// Bytes of each fragment that are not data. VIA: sourced, 38 of Ethernet (preamble 8, header 14, check
    /// 4, gap 12); fitted, 26 of VIA itself.
    pub framing: u32,
    /// The longest fragment, in bytes of data. VIA: sourced, what Ethernet carries.
    pub cut: u32,
    /// Does a switch take in a whole fragment before it sends it on? VIA: fitted; the paper does not say.
    pub store_and_forward: bool,
    /// The longest message of one descriptor, in bytes. VIA: sourced, the least that its standard allows, 32
    /// KiB.
    pub longest: u32,
    /// Pieces of memory that one descriptor gathers. VIA: sourced, 252.
    pub gather: u32,
    /// A page, in bytes. Sourced: 4 KiB.
    pub page: u32,
    /// To make memory known to the NIC. VIA: fitted; one page and back, with `forget`, takes 10 us on each
    /// side. (The paper's "10 us or so" for a page on each side may be the sum; then 8 of its 53 us for the
    /// smallest message would be left over.)
    pub register: Paging,
    /// To make the NIC forget it. VIA: fitted, as `register`.
    pub forget: Paging,
    /// Does a NIC read a peer's memory by itself? VIA of 1999 does not: the peer must post a send for it.
    pub reads: bool,
    /// Is a message without a posted receive dropped? VIA drops it (sourced); others hold it back at the
    /// sender.
    pub drops: bool,
    /// Bytes that travel in the descriptor. Parameter.
    pub inline: u32,
    /// Bytes of a static buffer. Parameter; the paper's best is 512.
    pub buffer: u32,
    /// Static buffers on the way between two lanes. Parameter; sourced, 32 of the first driver.
    pub credits: u32,
    /// Further receives, posted for frames without a credit. Parameter.
    pub spare: u32,
}

impl Nic {
    /// M-VIA on Fast Ethernet, as Namyst et al. 1999 §3.3 measured it.
    pub const VIA_FAST_ETHERNET: Self = Self {
        post: Nanos(3_000),
        receive: Nanos(2_000),
        reap: Nanos(3_000),
        copy_ps: 10_000,
        interrupt: Nanos(12_000),
        notice: Notice::Interrupt,
        fragment: Nanos(4_000),
        gap: Nanos::ZERO,
        latency: Nanos(8_760),
        wire_ps: 80_000,
        framing: 64,
        cut: 1_500,
        store_and_forward: true,
        longest: 32_768,
        gather: 252,
        page: 4_096,
        register: Paging { call: Nanos(7_000), page: Nanos(1_500) },
        forget: Paging { call: Nanos(3_000), page: Nanos(500) },
        reads: false,
        drops: true,
        inline: 56,
        buffer: 512,
        credits: 32,
        spare: 16,
    };

    /// Fast Messages on Myrinet, after Itzkovitz & Schuster 1999 §3.4 and Table 1: a header of 32 bytes takes
    /// 12 us from one program to the other, 0.5, 1 and 4 KB take 22, 34 and 90. The sum is sourced; it is
    /// assumed that a processor sends for 5 us and takes in for 5: it writes to the NIC by itself, and polls
    /// it. The NIC does not interrupt (sourced): the user must choose `notice` and its price. Credits and
    /// buffers are ours.
    pub const FM_MYRINET: Self = Self {
        post: Nanos(5_000),
        receive: Nanos::ZERO,
        reap: Nanos(5_000),
        // Through the privileged view nothing is copied.
        copy_ps: 0,
        interrupt: Nanos(5_000),
        notice: Notice::Interrupt,
        fragment: Nanos::ZERO,
        gap: Nanos::ZERO,
        latency: Nanos(1_386),
        wire_ps: 19_193,
        framing: 8,
        cut: 1 << 20,
        store_and_forward: false,
        longest: 1 << 20,
        gather: 1,
        page: 4_096,
        register: Paging::FREE,
        forget: Paging::FREE,
        reads: false,
        drops: false,
        inline: 56,
        buffer: 4_096 + 24,
        credits: 32,
        spare: 16,
    };

    /// A NIC of today whose messages cost what LogGP says: it reads a peer's memory by itself, and holds
    /// back messages that find no room.
    pub const fn loggp(model: LogGp) -> Self {
        Self {
            post: model.send_overhead,
            receive: Nanos::ZERO,
            reap: model.receive_overhead,
            copy_ps: 100,
            interrupt: Nanos(2_000),
            notice: Notice::Interrupt,
            fragment: Nanos::ZERO,
            gap: model.gap,
            latency: model.latency,
            wire_ps: model.byte_ps,
            framing: 0,
            cut: 1 << 30,
            store_and_forward: false,
            longest: 1 << 30,
            gather: 16,
            page: 4_096,
            register: Paging::FREE,
            forget: Paging::FREE,
            reads: true,
            drops: false,
            inline: 56,
            buffer: 4_096,
            credits: 32,
            spare: 16,
        }
    }

    /// The number of frames for which there is room between two lanes.
    pub(super) const fn room(&self) -> u32 {
        self.credits + self.spare
    }

    /// The time of a processor to copy `bytes` bytes.
    pub(super) const fn copy(&self, bytes: usize) -> Nanos {
        Nanos((bytes as u64).saturating_mul(self.copy_ps) / 1_000)
    }

    /// The time of one fragment with `bytes` bytes of data on the wire.
    pub(super) const fn wire(&self, bytes: u32) -> Nanos {
        Nanos((bytes as u64 + self.framing as u64).saturating_mul(self.wire_ps) / 1_000)
    }

    /// The price to register or forget one piece of memory, which begins with a page.
    pub(super) const fn paging(&self, price: Paging, bytes: usize) -> Nanos {
        let pages = (bytes as u64).div_ceil(self.page as u64);
        if pages == 0 { Nanos::ZERO } else { Nanos(price.call.0 + (pages - 1) * price.page.0) }
    }

    /// The number of descriptors that `bytes` bytes in `pieces` pieces take.
    pub(super) fn descriptors(&self, bytes: usize, pieces: usize) -> u32 {
        let descriptors = bytes.div_ceil(self.longest as usize).max(pieces.div_ceil(self.gather as usize));
        descriptors.max(1) as u32
    }

    /// The time of a message without data, from its post until it has been taken and the next receive is
    /// posted.
    pub fn empty(&self) -> Nanos {
        let wires = self.wire(0) * if self.store_and_forward { 2 } else { 1 };
        self.post + self.fragment * 2 + self.latency + wires + self.reap + self.receive
    }

    pub(super) fn limits(&self, lanes: u32) -> Limits {
        let Self { inline, buffer, credits, spare, gather, .. } = *self;
        let (inline, buffer, gather) = (inline as usize, buffer as usize, gather as usize);
        Limits { lanes, inline, buffer, credits, spare, gather, direct: true }
    }

    pub(super) fn costs(&self) -> FabricCosts {
        let wires = if self.store_and_forward { 2 } else { 1 };
        let buffered = Slope { fixed: self.empty(), byte_ps: 2 * self.copy_ps + wires * self.wire_ps };
        let page = (self.register.page + self.forget.page).0 * 1_000 / u64::from(self.page.max(1));
        let asked = self.empty() * if self.reads { 2 } else { 3 };
        let fixed = asked + (self.register.call + self.forget.call) * 2;
        let data = (u64::from(self.cut) + u64::from(self.framing)) * self.wire_ps / u64::from(self.cut.max(1));
        FabricCosts { buffered, direct: Slope { fixed, byte_ps: data + 2 * page } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_message_of_1999_takes_35_us() {
        assert_eq!(Nic::VIA_FAST_ETHERNET.empty(), Nanos(35_000));
    }

    /// A line through the shortest and the longest of them; the two between lie a little above it.
    #[test]
    fn messages_of_1999_over_myrinet_take_what_was_measured() {
        let nic = Nic::FM_MYRINET;
        let one_way = |bytes| (nic.post + nic.wire(bytes - nic.framing) + nic.latency + nic.reap).as_us();
        for (bytes, us, off) in [(32, 12.0, 0.01), (512, 22.0, 0.06), (1_024, 34.0, 0.1), (4_096, 90.0, 0.01)] {
            let got: f64 = one_way(bytes);
            assert!((got - us).abs() <= off * us, "{bytes} bytes take {got} us, not {us}");
        }
    }

    #[test]
    fn a_page_costs_10_us_on_either_side() {
        let nic = Nic::VIA_FAST_ETHERNET;
        let page = nic.paging(nic.register, 1) + nic.paging(nic.forget, 1);
        assert_eq!(page, Nanos(10_000));
        assert_eq!(nic.paging(nic.register, 3 * 4_096 + 1), Nanos(7_000 + 3 * 1_500));
        assert_eq!(nic.paging(nic.register, 0), Nanos::ZERO);
    }

    #[test]
    fn long_messages_and_long_lists_take_several_descriptors() {
        let nic = Nic::VIA_FAST_ETHERNET;
        let of = [(0, 1), (1, 1), (32_768, 1), (32_769, 1), (100, 252), (100, 253)];
        assert_eq!(of.map(|(bytes, pieces)| nic.descriptors(bytes, pieces)), [1, 1, 1, 2, 1, 2]);
    }
}
