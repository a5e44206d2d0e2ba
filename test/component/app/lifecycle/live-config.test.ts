import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { PlatnetServer } from '../../../helpers/platnet-server.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { untilAsync } from '../../../helpers/until.ts'

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
