//! Which vector instructions are used. The only place of this crate with `unsafe`: calling what was compiled for them.

/// Which vector instructions the inner loops are compiled for. All give the same bits.
///
/// A value is made only by asking the processor, so that no instruction is used that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    Avx2,
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    Avx512,
}

/// A loop that is compiled once for each set of instructions. `run` must be `#[inline(always)]`.
pub(crate) trait Loop {
    type Output;
    fn run(self) -> Self::Output;
}

impl Kernel {
    /// What every processor of this kind has.
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// The widest that this machine has.
    pub fn detect() -> Self {
        Self::available().last().unwrap_or(Self::PORTABLE)
    }

    /// All that this machine has, the narrowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let wide = {
            let avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("f16c");
            let avx512 = avx2
                && std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512vl")
                && std::is_x86_feature_detected!("avx512dq");
            [avx2.then_some(Instructions::Avx2), avx512.then_some(Instructions::Avx512)]
        };
        #[cfg(not(all(feature = "std", target_arch = "x86_64")))]
        let wide: [Option<Instructions>; 0] = [];
        core::iter::once(Instructions::Portable).chain(wide.into_iter().flatten()).map(Self)
    }

    /// The instructions' name.
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Instructions::Avx2 => "avx2",
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Instructions::Avx512 => "avx512",
        }
    }

    /// Whether registers hold sixteen numbers, and twice as many of them.
    pub(crate) fn wide(self) -> bool {
        match self.0 {
            Instructions::Portable => false,
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Instructions::Avx2 => false,
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Instructions::Avx512 => true,
        }
    }

    #[inline]
    pub(crate) fn run<L: Loop>(self, work: L) -> L::Output {
        match self.0 {
            Instructions::Portable => work.run(),
            // SAFETY: a `Kernel` with these instructions is only made by `available`, which asked the processor.
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            #[allow(unsafe_code)]
            Instructions::Avx2 => unsafe { avx2(work) },
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            #[allow(unsafe_code)]
            Instructions::Avx512 => unsafe { avx512(work) },
        }
    }
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[target_feature(enable = "avx2,f16c")]
fn avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[target_feature(enable = "avx2,f16c,avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}
