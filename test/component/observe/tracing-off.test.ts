import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePort } from '../../helpers/free-port.ts'
import { PlatnetServer } from '../../helpers/platnet-server.ts'
import { checkoutLauncher } from '../../helpers/program.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

/** What only an export of spans needs. OpenTelemetry's API itself comes with prom-client. */
const ofExport =
  /node_modules\/(@opentelemetry\/(?!api\/)|@grpc\/|protobufjs\/|@protobufjs\/)|src\/observe\/tracing\/(tracing|otlp-exporter|span-queue|recording-tracer)\.ts$/

test('A server without the variables of OpenTelemetry loads nothing that exports spans; with one of them it does', async (t) => {
  const loadedBy = async (env: Readonly<Record<string, string>>) => {
    const folder = makeTemporaryFolder(t)
    const file = join(folder, 'modules')
    const hook = `--import=${join(import.meta.dirname, 'record-modules.program.ts')}`
    const variables = { NODE_OPTIONS: hook, PLATNET_TEST_MODULES: file, ...env }
    const server = new PlatnetServer(
      join(folder, 'data'),
      await findFreePort(),
      variables,
      ['--components=api'],
      checkoutLauncher,
    )
    t.after(() => server.stop('SIGKILL'))
    await server.start()
    assert.equal(await server.stop('SIGTERM'), 0)
    return readFileSync(file, 'utf8').split('\n')
  }
  const off = await loadedBy({})
  assert.ok(off.length > 300, `${off.length} modules`)
  assert.deepEqual(
    off.filter((url) => ofExport.test(url)),
    [],
  )
  const disabled = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }
  assert.deepEqual(
    (await loadedBy(disabled)).filter((url) => ofExport.test(url)),
    [],
  )
  const on = await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  assert.ok(on.filter((url) => ofExport.test(url)).length > 100)
})

test('A server whose endpoint of traces is no URL serves without them', async (t) => {
  const server = new PlatnetServer(join(makeTemporaryFolder(t), 'data'), await findFreePort(), {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'not a url',
  })
  t.after(() => server.stop('SIGKILL'))
  await server.start()
  assert.equal(await server.stop('SIGTERM'), 0)
})
