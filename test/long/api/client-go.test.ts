import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { prepareDurableServer } from '../../helpers/durable-server.ts'
import { InformerProgram } from '../../helpers/informer-program.ts'

const source = resolve(import.meta.dirname, '../../conformance/client-go')
const program = resolve(import.meta.dirname, '../../../.cache/client-go-services')
const downloadTimeoutMs = 120_000
const buildTimeoutMs = 480_000

test('a client-go informer lists by watching, follows typed writes, and goes on after a restart of the server', async (t) => {
  const lack = build()
  if (lack !== undefined) return t.skip(lack)
  const { caFile, start } = await prepareDurableServer(t)
  const first = await start()
  const informer = new InformerProgram(program, ['--server', first.url, '--ca', caFile])
  t.after(() => informer.stop())

  await informer.until(({ event }) => event === 'synced')
  const [asked] = informer.asked()
  assert.match(asked ?? '', /[?&]sendInitialEvents=true/)
  assert.ok(informer.lines.some(({ event, name }) => event === 'added' && name === 'kubernetes'))

  await informer.write('create web')
  await informer.until(({ event, name }) => event === 'added' && name === 'web')
  await informer.write('label web blue')
  await informer.until(({ event, color }) => event === 'updated' && color === 'blue')

  await first.stop()
  await using second = await start({ port: first.port })
  const path = '/api/v1/namespaces/default/services/web'
  const patched = await second.call('PATCH', path, {
    body: { metadata: { labels: { color: 'green' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.equal(patched.code, 200)
  await informer.until(({ event, color }) => event === 'updated' && color === 'green')
  await informer.write('delete web')
  await informer.until(({ event, name }) => event === 'deleted' && name === 'web')
  const lists = informer.asked().filter((url) => !url.includes('watch=true'))
  assert.deepEqual(lists, [], 'the informer never fell back to a plain list')
})

/** Why the program cannot be had on this machine; undefined when it was built. A build that fails for any other reason fails the test. */
function build(): string | undefined {
  const go = (timeout: number, ...args: string[]) => execFileSync('go', args, { cwd: source, timeout, stdio: 'pipe' })
  try {
    go(10_000, 'version')
  } catch {
    return 'go is not on this machine'
  }
  try {
    go(downloadTimeoutMs, 'mod', 'download')
  } catch {
    return 'the modules of client-go cannot be had from here'
  }
  mkdirSync(resolve(program, '..'), { recursive: true })
  go(buildTimeoutMs, 'build', '-o', program, '.')
  return undefined
}
