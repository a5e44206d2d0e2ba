import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unchangedFiles } from '../../../src/loop/return-memory.ts'

function mapping(head: string, own: Readonly<Record<string, number>> = {}): string {
  const sizes = { Rss: 40, Shared_Dirty: 0, Private_Dirty: 0, Anonymous: 0, Swap: 0, Locked: 0, ...own }
  const lines = Object.entries(sizes).map(([name, kibibytes]) => `${`${name}:`.padEnd(15)} ${kibibytes} kB`)
  return [head, ...lines, 'VmFlags: rd ex mr mw me', ''].join('\n')
}

test('only mappings that hold nothing but their file can be given back', () => {
  const smaps = [
    mapping('00400000-0082e000 r--p 00000000 fe:00 1234                       /usr/lib/platnet/bin/node'),
    mapping('0082e000-03489000 r-xp 0042e000 fe:00 1234                       /usr/lib/platnet/bin/node'),
    mapping('03489000-03500000 r--p 03089000 fe:00 1234    /relocated', { Anonymous: 4, Private_Dirty: 4 }),
    mapping('03500000-03600000 r-xp 03100000 fe:00 1234    /breakpoint in swap', { Swap: 4 }),
    mapping('03600000-03700000 r-xp 03200000 fe:00 1234    /locked', { Locked: 4 }),
    mapping('03700000-03800000 rw-p 03300000 fe:00 1234    /usr/lib/platnet/bin/node'),
    mapping('03800000-03900000 r--s 00000000 fe:00 99      /shared'),
    mapping('03900000-03a00000 r-xp 00000000 00:00 0'),
    mapping('7f00000000-7f00001000 r-xp 00000000 00:00 0                          [vdso]'),
    '03a00000-03b00000 r-xp 00000000 fe:00 1234 /no sizes\n',
  ].join('')
  assert.deepEqual(unchangedFiles(smaps), [
    { start: 0x40_0000n, bytes: 0x42_e000n },
    { start: 0x82_e000n, bytes: 0x2c5_b000n },
  ])
})
