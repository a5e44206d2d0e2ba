import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { startTestServer, type TestServer, testToken } from '../helpers/api-server.ts'
import { missingKubectl } from '../helpers/kubectl.ts'

const run = promisify(execFile)
const skip = missingKubectl()

const service = (port: number, extra = '') => `
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {app: web}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: ${port}, targetPort: 8080}
  - {name: dns, port: 53, protocol: UDP}
${extra}`

const configMap = (data: string) => `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: ${data}
`

describe('kubectl apply, patch and edit', { skip }, () => {
  let server: TestServer
  let home: string

  before(async () => {
    server = await startTestServer()
    home = mkdtempSync(join(tmpdir(), 'platnet-kubectl-'))
  })
  after(async () => {
    await server.stop()
    rmSync(home, { recursive: true })
  })

  const kubectlWith = async (extra: Record<string, string>, ...args: string[]): Promise<string> => {
    const options = ['--server', server.url, '--token', testToken, '--insecure-skip-tls-verify']
    const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: '/dev/null', ...extra }
    const { stdout } = await run('kubectl', [...args, ...options], { cwd: home, env, timeout: 30_000 })
    return stdout
  }
  const kubectl = (...args: string[]) => kubectlWith({}, ...args)
  const apply = (manifest: string, ...args: string[]) => {
    writeFileSync(join(home, 'manifest.yaml'), manifest)
    return kubectl('apply', '--validate=false', '-f', 'manifest.yaml', ...args)
  }
  const get = async (kind: string, name: string, ...args: string[]) =>
    JSON.parse(await kubectl('get', kind, name, '-o', 'json', ...args))
  const managers = async (kind: string, name: string) => {
    const { metadata } = await get(kind, name, '--show-managed-fields')
    return metadata.managedFields.map(
      (entry: { manager: string; operation: string }) => `${entry.manager} ${entry.operation}`,
    )
  }

  test('an apply of a file with a kind that is not served applies the others and says which kind has no match', async () => {
    const unserved = '\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: h}\nspec: {}\n'
    writeFileSync(join(home, 'mixed.yaml'), [configMap('{a: b}'), unserved, service(80)].join('---'))
    const failed = await kubectl('apply', '-f', 'mixed.yaml').catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    assert.ok(typeof failed !== 'string')
    assert.match(failed.stderr, /no matches for kind "DeviceClass" in version "resource.k8s.io\/v1"/)
    assert.deepEqual(failed.stdout.trim().split('\n').sort(), ['configmap/settings created', 'service/web created'])
    await kubectl('delete', 'configmap/settings', 'service/web')
  })

  test('a second apply changes what the manifest changed and removes what it left out', async () => {
    assert.equal(await apply(service(80, '  publishNotReadyAddresses: true\n')), 'service/web created\n')
    const { clusterIP } = (await get('svc', 'web')).spec
    assert.equal(await apply(service(80, '  publishNotReadyAddresses: true\n')), 'service/web unchanged\n')
    assert.equal(await apply(service(81)), 'service/web configured\n')
    const { spec } = await get('svc', 'web')
    assert.deepEqual(
      spec.ports.map(({ name, port }: { name: string; port: number }) => [name, port]),
      [
        ['http', 81],
        ['dns', 53],
      ],
    )
    assert.deepEqual([spec.clusterIP, spec.publishNotReadyAddresses], [clusterIP, undefined])
    assert.deepEqual(await managers('svc', 'web'), ['kubectl-client-side-apply Update'])
  })

  test('patch merges lists by their key without a directive', async () => {
    await kubectl('patch', 'svc', 'web', '-p', '{"spec":{"ports":[{"port":53,"name":"names"}]}}')
    const { ports } = (await get('svc', 'web')).spec
    assert.deepEqual(
      ports.map(({ name }: { name: string }) => name),
      ['http', 'names'],
    )
  })

  test('edit sends what the editor changed', async () => {
    const editor = join(home, 'editor.sh')
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/app: web/app: other/" "$1"\n')
    chmodSync(editor, 0o755)
    assert.equal(
      await kubectlWith({ EDITOR: editor }, 'edit', 'svc', 'web', '--validate=false'),
      'service/web edited\n',
    )
    assert.deepEqual((await get('svc', 'web')).spec.selector, { app: 'other' })
  })

  test('create without further words is strict and names the unknown field', async () => {
    writeFileSync(join(home, 'unknown.yaml'), configMap('{a: "1"}\ncolour: red').replace('settings', 'strict'))
    await assert.rejects(
      kubectl('create', '-f', 'unknown.yaml'),
      /strict decoding error: unknown field "colour"|unknown field "colour" in/,
    )
    writeFileSync(join(home, 'known.yaml'), configMap('{a: "1"}').replace('settings', 'strict'))
    assert.equal(await kubectl('create', '-f', 'known.yaml'), 'configmap/strict created\n')
  })

  test('diff shows what an apply would change, and changes nothing', async () => {
    writeFileSync(join(home, 'manifest.yaml'), service(82))
    await assert.rejects(kubectl('diff', '-f', 'manifest.yaml'), (thrown: { code?: unknown; stdout?: unknown }) => {
      assert.equal(thrown.code, 1, String(thrown))
      assert.match(String(thrown.stdout), /^\+ +port: 82$/m)
      return true
    })
    assert.equal((await get('svc', 'web')).spec.ports[0].port, 81)
  })

  test('a server-side apply owns its fields, and other managers get a conflict before they take them', async () => {
    assert.equal(await apply(configMap('{a: "1", b: "2"}'), '--server-side'), 'configmap/settings serverside-applied\n')
    assert.deepEqual(await managers('cm', 'settings'), ['kubectl Apply'])
    const other = configMap('{a: "9"}')
    await assert.rejects(
      apply(other, '--server-side', '--field-manager=other'),
      /Apply failed with 1 conflict: conflict with "kubectl": \.data\.a/,
    )
    await apply(other, '--server-side', '--field-manager=other', '--force-conflicts')
    assert.deepEqual((await get('cm', 'settings')).data, { a: '9', b: '2' })
    assert.deepEqual(await managers('cm', 'settings'), ['kubectl Apply', 'other Apply'])
    await apply(configMap('{c: "3"}'), '--server-side')
    assert.deepEqual((await get('cm', 'settings')).data, { a: '9', c: '3' })
  })

  test('an object applied by the client moves to the server without conflicts', async () => {
    const manifest = (value: string) => configMap(`{a: "${value}"}`).replace('settings', 'moved')
    await apply(manifest('1'))
    await apply(manifest('2'), '--server-side')
    assert.deepEqual(await managers('cm', 'moved'), ['kubectl Apply', 'kubectl-last-applied Apply'])
    const { data, metadata } = await get('cm', 'moved')
    assert.deepEqual(data, { a: '2' })
    assert.match(metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'], /"a":"2"/)
  })
})
