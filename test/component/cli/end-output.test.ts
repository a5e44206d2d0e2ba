import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PodFolders } from '../../../src/node/pods/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const main = resolve(import.meta.dirname, '../../../src/main.ts')
const line = 'what a container wrote\n'
const lines = 40_000

/** `platnet logs` of nearly a megabyte, into a pipe. */
async function startLogs(t: TestContext, ...flags: readonly string[]) {
  const folders = new PodFolders(makeTemporaryFolder(t))
  const about = { hostNetwork: false, portMappings: [], image: '', sandbox: 'ready', ips: [] } as const
  await folders.write({
    uid: 'u',
    namespace: 'default',
    name: 'web',
    ...about,
    containers: { main: { attempt: 0, level: 0 } },
  })
  const log = join(folders.runFolder('u', { container: 'main', attempt: 0 }), 'log')
  mkdirSync(log, { recursive: true })
  writeFileSync(join(log, '1000000'), line.repeat(lines))
  const child = spawn(process.execPath, [main, 'logs', 'web', '--pods-dir', folders.root, ...flags], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const err: string[] = []
  child.stderr.on('data', (chunk: Buffer) => err.push(String(chunk)))
  const ended = new Promise<number | null>((done) => child.once('close', done))
  return { child, stdout: child.stdout, ended, err }
}

test('what a slow reader has not read yet is not lost when the command ends', async (t) => {
  const { stdout, ended, err } = await startLogs(t)
  let bytes = 0
  for await (const chunk of stdout) {
    if (bytes === 0) await sleep(300)
    bytes += chunk.length
  }
  assert.deepEqual([await ended, bytes, err], [0, line.length * lines, []])
})

test('a reader that has enough ends the command in silence', async (t) => {
  const { stdout, ended, err } = await startLogs(t)
  stdout.once('data', () => stdout.destroy())
  assert.deepEqual([await ended, err], [0, []])
})

test('a command does its work although its messages are not read', async (t) => {
  const { child, stdout, ended } = await startLogs(t, '--tail', 'x')
  child.stderr.destroy()
  stdout.resume()
  assert.equal(await ended, 2)
})

test('output that the disk has no room for is an error', async () => {
  const child = spawn(process.execPath, [main, 'version'], { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] })
  const err: string[] = []
  child.stderr?.on('data', (chunk: Buffer) => err.push(String(chunk)))
  const code = await new Promise((done) => child.once('close', done))
  assert.deepEqual(
    [code, err.join('')],
    [1, 'error: the output cannot be written: ENOSPC: no space left on device, write\n'],
  )
})
