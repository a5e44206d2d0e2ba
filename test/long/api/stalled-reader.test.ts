import assert from 'node:assert/strict'
import { it } from 'node:test'
import { measureStalledReader } from '../../conformance/api/stalled-reader.ts'

it('A watch that is not read for 60 s at 500 writes/s costs at most 10 MiB.', async () => {
  const grownMiB = (await measureStalledReader(60)) / 1024 / 1024
  assert.ok(grownMiB <= 10, `the server grew by ${grownMiB.toFixed(1)} MiB`)
  assert.ok(grownMiB > 0.5, 'the reader was not stalled: nothing was kept for it')
})
