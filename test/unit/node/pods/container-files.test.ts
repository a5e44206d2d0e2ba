import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readRun } from '../../../../src/node/pods/container-files.ts'

test('a run whose shim writes the end and ends itself while its state is read has that end', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-run-'))
  context.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'shim'), '11 1\n')
  writeFileSync(join(folder, 'pid'), '12 1\n')
  const isRunning = ({ pid }: { readonly pid: number }) => {
    if (pid === 11) writeFileSync(join(folder, 'exit'), '0 0 0\n')
    return false
  }
  const state = readRun(folder, Date.now(), isRunning)
  assert.deepEqual([state.kind, state.kind === 'exited' && state.exitCode], ['exited', 0])
})

test('a run whose shim has ended without a word is lost', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-run-'))
  context.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'shim'), '11 1\n')
  const state = readRun(folder, Date.now(), () => false)
  assert.deepEqual([state.kind, state.kind === 'exited' && state.exitCode], ['exited', undefined])
})
