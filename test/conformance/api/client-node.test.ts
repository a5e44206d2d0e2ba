import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { prepareDurableServer } from '../../helpers/durable-server.ts'
import { InformerProgram } from '../../helpers/informer-program.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

const source = resolve(import.meta.dirname, '../client-node')
const installed = resolve(import.meta.dirname, '../../../.cache/client-node')
const installTimeoutMs = 60_000

test('the informer of the JavaScript client follows what changes, and lists anew when it comes back too late', async (t) => {
  const lack = install()
  if (lack !== undefined) return t.skip(lack)
  const { caFile, start } = await prepareDurableServer(t)
  const paint = (server: Awaited<ReturnType<typeof start>>, color: string) =>
    server.call('PUT', `${paths.configMaps}/one`, { body: configMap('one', {}, { color }) })

  const first = await start()
  await first.call('POST', paths.configMaps, { body: configMap('one') })
  const informer = new InformerProgram(process.execPath, [join(installed, 'informer.mjs'), first.url, caFile])
  t.after(() => informer.stop())
  await informer.until(({ event, name }) => event === 'added' && name === 'one')
  await first.call('POST', paths.configMaps, { body: configMap('two') })
  await informer.until(({ event, name }) => event === 'added' && name === 'two')
  await paint(first, 'blue')
  await informer.until(({ event, color }) => event === 'updated' && color === 'blue')
  await first.call('DELETE', `${paths.configMaps}/two`)
  await informer.until(({ event, name }) => event === 'deleted' && name === 'two')
  const countLists = () => informer.lines.filter(({ event }) => event === 'listed').length
  assert.equal(countLists(), 1)
  await first.stop()

  const elsewhere = await start()
  await paint(elsewhere, 'green')
  await elsewhere.store.compact(elsewhere.store.revision)
  await elsewhere.stop()
  await using _again = await start({ port: first.port })
  await informer.until(({ event, color }) => event === 'updated' && color === 'green')
  assert.equal(countLists(), 2, 'the revision it knew was gone: 410')
})

/** Why the library cannot be had on this machine; undefined when it stands in `.cache/`. */
function install(): string | undefined {
  cpSync(source, installed, { recursive: true })
  try {
    const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']
    execFileSync('npm', args, { cwd: installed, timeout: installTimeoutMs, stdio: 'pipe' })
    return undefined
  } catch {
    return '@kubernetes/client-node cannot be had from here'
  }
}
