// The program by which the kernel chooses a serving thread for a datagram: classic BPF, run on the datagram's bytes (socket(7),
// SO_ATTACH_REUSEPORT_CBPF). It is a hint that spares a way between threads: each thread answers, or hands over, whatever it gets.

const operation = {
  loadLength: 0x80,
  loadWordAt: 0x40,
  subtract: 0x14,
  copyToIndex: 0x07,
  or: 0x44,
  jumpIfEqual: 0x15,
  give: 0x06,
} as const
const instructionBytes = 8

/** The socket that was bound first: of the thread with the resolver. */
const first = 0
/** No socket has that number, so the kernel chooses by the client's address and port. */
const anyThread = 0xffff_ffff

const tailBytes = 4
/** Where the last four bytes of the question's name are, from the end of a query: type and class follow, and an OPT record without options. */
const tailsFromEnd = [tailBytes + 4, tailBytes + 4 + 11]
/** How many ends of names the program compares; jumps are a byte long. */
const maxTails = 64
const caseBits = 0x2020_2020

type Instruction = readonly [code: number, value: number, jumpIfTrue?: number]

/**
 * Makes the program. Names that end like one of the zones, in any case, go to any thread, because each answers them from memory; others go to
 * the thread with the resolver. Without zones, and with ones of fewer than four bytes, the kernel chooses for every name.
 */
export function steeringProgram(memoryZones: readonly Uint8Array[] | undefined): Buffer {
  const tails = memoryZones && [...new Set(memoryZones.map(tailOf))]
  if (tails === undefined || tails.includes(undefined) || tails.length > maxTails)
    return assemble([[operation.give, anyThread]])
  const places = tailsFromEnd.map((fromEnd, index) => compare(tails as number[], fromEnd, tailsFromEnd.length - index))
  return assemble([...places.flat(), [operation.give, first], [operation.give, anyThread]])
}

/** Compares the four bytes at that place with each tail. A load outside the datagram ends the program with 0, which is the first socket. */
function compare(tails: readonly number[], fromEnd: number, placesLeft: number): readonly Instruction[] {
  const start: readonly Instruction[] = [
    [operation.loadLength, 0],
    [operation.subtract, fromEnd],
    [operation.copyToIndex, 0],
    [operation.loadWordAt, 0],
    [operation.or, caseBits],
  ]
  const rest = (start.length + tails.length) * (placesLeft - 1)
  return [...start, ...tails.map((tail, index) => [operation.jumpIfEqual, tail, tails.length - index + rest] as const)]
}

/** Returns the last four bytes of a name in wire form, with the bit set that tells upper case from lower; undefined for a shorter one. */
function tailOf(zone: Uint8Array): number | undefined {
  if (zone.length < tailBytes) return undefined
  const view = new DataView(zone.buffer, zone.byteOffset, zone.length)
  return (view.getUint32(zone.length - tailBytes) | caseBits) >>> 0
}

/** Writes `struct sock_filter`: operation, how many instructions are left out where a comparison holds and where not, value. */
function assemble(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(instructions.length * instructionBytes)
  for (const [index, [code, value, jumpIfTrue = 0]] of instructions.entries()) {
    const at = index * instructionBytes
    program.writeUInt16LE(code, at)
    program.writeUInt8(jumpIfTrue, at + 2)
    program.writeUInt32LE(value, at + 4)
  }
  return program
}
