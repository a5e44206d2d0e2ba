import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isAlive, signalProcess } from '../../../../src/host/index.ts'
import { claimRun, findProgram, readRun } from '../../../../src/node/pods/container-files.ts'
import { launchOf, planOf, startShim } from '../../../helpers/launch-plans.ts'
import { skipReason } from '../../../helpers/netns.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until } from '../../../helpers/until.ts'

const deadlineMs = 30_000

async function run(folder: string, script: string): Promise<void> {
  await startShim(folder, planOf(launchOf(['/bin/sh', '-c', script])), { logBytes: 1000 })
}

async function untilExited(folder: string): Promise<number | undefined> {
  const state = () => readRun(folder, Date.now())
  await until('the container has ended', () => state().kind === 'exited', deadlineMs)
  const end = state()
  return end.kind === 'exited' ? end.exitCode : undefined
}

function listPieces(folder: string): string[] {
  return readdirSync(join(folder, 'log')).toSorted()
}

function readLog(folder: string): string {
  return listPieces(folder)
    .map((piece) => readFileSync(join(folder, 'log', piece), 'utf8'))
    .join('')
}

describe('the shim of a container', { skip: skipReason('unshare', 'setsid') }, () => {
  test('keeps the last files of the output in order and the exit code', async (context) => {
    const folder = makeTemporaryFolder(context)
    await run(folder, 'i=100; while [ $i -lt 1100 ]; do echo line-$i; i=$((i + 1)); done; exit 7')
    assert.equal(await untilExited(folder), 7)
    const pieces = listPieces(folder)
    assert.equal(pieces.length, 3)
    for (const piece of pieces.slice(0, -1)) assert.equal(statSync(join(folder, 'log', piece)).size, 1000)
    const lines = readLog(folder).trimEnd().split('\n').slice(1)
    assert.equal(lines.at(-1), 'line-1099')
    assert.deepEqual(
      lines,
      lines.map((_, index) => `line-${1100 - lines.length + index}`),
    )
  })

  test('records the process that it runs, and ends when that is killed', async (context) => {
    const folder = makeTemporaryFolder(context)
    await run(folder, 'exec sleep 600')
    await until('it runs', () => readRun(folder, Date.now()).kind === 'running', deadlineMs)
    const program = findProgram(folder)
    assert.ok(program && isAlive(program))
    signalProcess(program, 'SIGKILL')
    assert.equal(await untilExited(folder), 137)
    assert.equal(readLog(folder), '')
  })

  test('does nothing if its run was claimed before it started', async (context) => {
    const folder = makeTemporaryFolder(context)
    assert.equal(claimRun(folder), true)
    await run(folder, `touch ${folder}/began`)
    assert.equal(claimRun(folder), false)
    assert.equal(readRun(folder, Date.now()).kind, 'none')
    assert.deepEqual(readdirSync(folder).includes('began'), false)
  })
})
