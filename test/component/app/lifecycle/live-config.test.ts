import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../../../../src/host/index.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { PlatnetServer } from '../../../helpers/platnet-server.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

test('a running server follows its configuration file, and a broken one changes nothing', async (t) => {
  const folder = makeTemporaryFolder(t)
  const config = join(folder, 'config.yaml')
  writeFileSync(config, 'maxObjectBytes: 1Mi\n')
  const flags = ['--components=api', `--config=${config}`]
  const server = new PlatnetServer(join(folder, 'data'), await findFreePort(), {}, flags)
  const access = await server.start()
  t.after(() => server.stop('SIGTERM'))
  let count = 0
  const write = async () => {
    const name = `object-${count++}`
    const { status } = await httpGet({
      ...access,
      path: '/api/v1/namespaces/default/configmaps',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'ConfigMap', metadata: { name }, data: { text: 'x'.repeat(300_000) } }),
    })
    return status
  }
  assert.equal(await write(), 201)
  const replace = (text: string) => {
    writeFileSync(`${config}.new`, text)
    renameSync(`${config}.new`, config)
  }
  replace('maxObjectBytes: 256Ki\n')
  await untilAsync('the new limit holds', async () => (await write()) === 413, 10_000)
  replace('maxObjectBytes: many\nnonsense: 1\n')
  process.kill(server.pid, 'SIGHUP')
  assert.equal(await write(), 413)
  replace('maxObjectBytes: 1Mi\n')
  await untilAsync('the limit of the repaired file holds', async () => (await write()) === 201, 10_000)
})

test('SIGHUP reads the options again, and SIGUSR1 opens no debugger and ends nothing', async (t) => {
  const program = join(import.meta.dirname, '../../../../scripts/platnet')
  const places = [`--data-dir=${join(makeTemporaryFolder(t), 'data')}`, `--secure-port=${await findFreePort()}`]
  const args = ['server', '--components=api', '--bind-address=127.0.0.1', '--log-format=json', ...places]
  const server = await runProgram(program, args, { background: true, stdout: 'pipe', stderr: 'pipe' })
  t.after(() => server.kill('SIGKILL'))
  let said = ''
  for (const stream of [server.stdout, server.stderr])
    stream?.on('data', (chunk) => {
      said += chunk
    })
  await until('it serves', () => said.includes('listening'), 20_000)
  server.kill('SIGUSR1')
  server.kill('SIGHUP')
  await until('SIGHUP is heard', () => said.includes('"because":"SIGHUP"'), 10_000)
  server.kill('SIGTERM')
  assert.equal((await server.exited).exitCode, 0)
  assert.doesNotMatch(said, /Debugger/)
})
