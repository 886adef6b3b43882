//! Order ideals (sets closed under predecessors) as bit sets, and a table that numbers them.

/// A set of blocks, 64 a word.
pub type Bits = [u64];

/// Whether `v` is in the set.
#[inline]
pub fn contains(bits: &Bits, v: usize) -> bool {
    bits[v / 64] >> (v % 64) & 1 == 1
}

/// Adds or removes `v`.
#[inline]
pub fn flip(bits: &mut Bits, v: usize) {
    bits[v / 64] ^= 1 << (v % 64);
}

/// The members of `bits`, ascending.
pub fn members(bits: &Bits) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(word, &value)| {
        let mut rest = value;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                word * 64 + bit
            })
        })
    })
}

/// A fixed pseudo-random word per block (splitmix64): the key of a set is the xor of its members' words.
pub fn key_of(v: usize) -> u64 {
    let mut z = (v as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const EMPTY: u32 = u32::MAX;

/// Numbers sets in the order of their first insertion; open addressing, full comparison on equal keys.
pub struct IdealTable {
    words: usize,
    sets: Vec<u64>,
    keys: Vec<u64>,
    slots: Vec<u32>,
}

impl IdealTable {
    /// A table of sets over `len` blocks.
    pub fn new(len: usize) -> Self {
        Self { words: len.div_ceil(64).max(1), sets: Vec::new(), keys: Vec::new(), slots: vec![EMPTY; 1024] }
    }

    /// Words of one set.
    pub fn words(&self) -> usize {
        self.words
    }

    /// How many sets are numbered.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no set is numbered.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        8 * (self.sets.capacity() + self.keys.capacity()) + 4 * self.slots.len()
    }

    /// The set with number `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &Bits {
        let start = id as usize * self.words;
        &self.sets[start..start + self.words]
    }

    /// Key of the set with number `id`.
    #[inline]
    pub fn key(&self, id: u32) -> u64 {
        self.keys[id as usize]
    }

    /// The number of `bits`, if it has one.
    #[inline]
    pub fn find(&self, key: u64, bits: &Bits) -> Option<u32> {
        let id = self.slots[self.slot(key, bits)];
        (id != EMPTY).then_some(id)
    }

    /// The number of `bits`, giving it the next one if it is new.
    #[inline]
    pub fn insert(&mut self, key: u64, bits: &Bits) -> u32 {
        let slot = self.slot(key, bits);
        if self.slots[slot] != EMPTY {
            return self.slots[slot];
        }
        let id = self.keys.len() as u32;
        self.slots[slot] = id;
        self.keys.push(key);
        self.sets.extend_from_slice(bits);
        if self.keys.len() * 2 > self.slots.len() {
            self.grow();
        }
        id
    }

    #[inline]
    fn slot(&self, key: u64, bits: &Bits) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let id = self.slots[slot];
            if id == EMPTY || (self.keys[id as usize] == key && self.get(id) == bits) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots = vec![EMPTY; mask + 1];
        for (id, &key) in self.keys.iter().enumerate() {
            let mut slot = key as usize & mask;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = id as u32;
        }
    }
}
