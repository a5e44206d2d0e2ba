import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createDialect } from '../../src/model/dialect.ts'
import { startTestServer, type TestServer, testToken } from '../helpers/api-server.ts'
import { missingKubectl } from '../helpers/kubectl.ts'

const run = promisify(execFile)
const skip = missingKubectl()

const example = readFileSync(resolve(import.meta.dirname, '../../examples/custom-resource.yaml'), 'utf8')
const instance = `
apiVersion: example.com/v1
kind: Cache
metadata: {name: front}
spec: {engine: redis}
`

for (const dialect of ['kubernetes', 'platform'] as const) {
  describe(`kubectl and custom resources in the ${dialect} dialect`, { skip }, () => {
    let server: TestServer
    let home: string

    before(async () => {
      server = await startTestServer({ dialect })
      home = mkdtempSync(join(tmpdir(), 'platnet-kubectl-'))
      const group = createDialect(dialect).groups.apiextensions
      writeFileSync(join(home, 'crd.yaml'), example.replace('apiextensions.platform.internal', group))
      writeFileSync(join(home, 'cache.yaml'), instance)
    })
    after(async () => {
      await server.stop()
      rmSync(home, { recursive: true })
    })

    const kubectl = async (...args: string[]): Promise<string> => {
      const options = ['--server', server.url, '--token', testToken, '--insecure-skip-tls-verify']
      const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: '/dev/null' }
      const { stdout } = await run('kubectl', [...args, ...options], { cwd: home, env, timeout: 30_000 })
      return stdout
    }

    test('a definition is applied, waited for and used', async () => {
      assert.match(await kubectl('apply', '-f', 'crd.yaml'), /caches\.example\.com created/)
      await kubectl('wait', '--for=condition=established', 'crd/caches.example.com', '--timeout=60s')
      assert.match(await kubectl('apply', '-f', 'cache.yaml'), /cache\.example\.com\/front created/)
      assert.match(await kubectl('apply', '-f', 'cache.yaml'), /cache\.example\.com\/front unchanged/)
    })

    test('short name, singular and category lead to it, with the columns of the definition', async () => {
      assert.match(await kubectl('get', 'ca'), /^NAME +ENGINE +REPLICAS +AGE\nfront +redis +1 +\d+s/)
      assert.match(await kubectl('get', 'cache', 'front', '-o', 'jsonpath={.spec.memory}'), /^64Mi$/)
      assert.match(await kubectl('get', 'all'), /cache\.example\.com\/front/)
    })

    test('the fields of every object are explained in the words that conformance tests look for', async () => {
      assert.match(await kubectl('explain', 'caches'), /apiVersion\s+<string>\s+APIVersion defines /)
      const metadata = await kubectl('explain', 'caches.metadata')
      assert.match(metadata, /DESCRIPTION:\s+Standard object's metadata/)
      assert.match(metadata, /creationTimestamp\s+<string>\s+CreationTimestamp is a timestamp /)
    })

    test('its fields are explained', async () => {
      assert.match(await kubectl('explain', 'cache.spec'), /engine\s+<string> -required-/)
    })

    test('it is patched, scaled and refused in plain words', async () => {
      await kubectl('patch', 'ca', 'front', '--type=merge', '-p', '{"spec":{"memory":"128Mi"}}')
      await kubectl('scale', 'cache/front', '--replicas=3')
      assert.equal(await kubectl('get', 'ca', 'front', '-o', 'jsonpath={.spec.replicas}'), '3')
      await assert.rejects(
        kubectl('patch', 'ca', 'front', '--type=merge', '-p', '{"spec":{"engine":"x"}}'),
        /Unsupported value: "x": supported values: "redis", "memcached"/,
      )
    })

    test('it is deleted with its definition', async () => {
      await kubectl('delete', 'crd', 'caches.example.com')
      await assert.rejects(kubectl('get', 'caches'), /could not find the requested resource/)
    })
  })
}
