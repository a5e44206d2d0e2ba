import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { DialectName } from '../../src/model/dialect.ts'
import { startTestServer, type TestServer, testToken } from '../helpers/api-server.ts'
import { missingKubectl } from '../helpers/kubectl.ts'

const run = promisify(execFile)
const skip = missingKubectl()

const manifest = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app: web}
data:
  colour: blue
---
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {app: web}
spec:
  type: NodePort
  selector: {app: web}
  ports:
  - port: 80
    targetPort: http
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  labels: {app: web}
spec:
  containers:
  - name: web
    image: web
    ports: [{containerPort: 8080, name: http}]
`

for (const dialect of ['kubernetes', 'platform'] as const satisfies readonly DialectName[]) {
  describe(`kubectl against the ${dialect} dialect`, { skip }, () => {
    let server: TestServer
    let home: string
    let options: readonly string[]
    const group = dialect === 'kubernetes' ? 'discovery.k8s.io' : 'discovery.platform.internal'

    before(async () => {
      server = await startTestServer({ dialect })
      home = mkdtempSync(join(tmpdir(), 'platnet-kubectl-'))
      writeFileSync(join(home, 'app.yaml'), manifest)
      options = ['--server', server.url, '--token', testToken, '--insecure-skip-tls-verify']
    })
    after(async () => {
      await server.stop()
      rmSync(home, { recursive: true })
    })

    const environment = () => ({ PATH: process.env['PATH'], HOME: home, KUBECONFIG: '/dev/null' })
    const kubectl = async (...args: string[]): Promise<string> => {
      const { stdout } = await run('kubectl', [...args, ...options], { cwd: home, env: environment(), timeout: 30_000 })
      return stdout
    }

    test('applies a manifest of three kinds', async () => {
      const output = await kubectl('apply', '--validate=false', '-f', 'app.yaml')
      assert.equal(output, 'configmap/settings created\nservice/web created\npod/web-1 created\n')
    })

    test('says that what is there already exists', async () => {
      await assert.rejects(
        kubectl('create', '--validate=false', '-f', 'app.yaml'),
        /configmaps "settings" already exists/,
      )
    })

    test('prints tables with the columns people know', async () => {
      assert.match(await kubectl('get', 'svc'), /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\n/)
      assert.match(await kubectl('get', 'svc'), /web +NodePort +10\.\d+\.\d+\.\d+ +<none> +80:3\d{4}\/TCP +\d+s/)
      assert.match(await kubectl('get', 'pods', '-A', '-l', 'app=web'), /default +web-1 +0\/1 +Pending +0 +\d+s/)
      assert.match(await kubectl('get', 'ns'), /NAME +STATUS +AGE\n/)
      assert.match(await kubectl('get', 'all'), /pod\/web-1[\s\S]*service\/web/)
    })

    test('gets objects as YAML, JSON and names', async () => {
      assert.match(await kubectl('get', 'cm', 'settings', '-o', 'yaml'), /^ {2}colour: blue$/m)
      assert.equal(JSON.parse(await kubectl('get', 'cm', 'settings', '-o', 'json')).data.colour, 'blue')
      assert.equal(await kubectl('get', 'svc', 'web', '-o', 'name'), 'service/web\n')
      assert.match(await kubectl('get', 'pods', '-l', 'app=other', '-o', 'name'), /^$/)
    })

    test('creates and gets slices under the group of the dialect', async () => {
      const slice = {
        apiVersion: `${group}/v1`,
        kind: 'EndpointSlice',
        metadata: { name: 'web-abc' },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.244.0.9'] }],
        ports: [{ port: 8080 }],
      }
      writeFileSync(join(home, 'slice.json'), JSON.stringify(slice))
      await kubectl('create', '--validate=false', '-f', 'slice.json')
      assert.match(await kubectl('get', 'endpointslices'), /web-abc +IPv4 +8080 +10\.244\.0\.9 +\d+s/)
    })

    test('patches, labels and annotates', async () => {
      await kubectl('patch', 'cm', 'settings', '--type=merge', '-p', '{"data":{"colour":"red"}}')
      const jsonPatch =
        '[{"op":"test","path":"/data/colour","value":"red"},{"op":"add","path":"/data/size","value":"1"}]'
      await kubectl('patch', 'cm', 'settings', '--type=json', '-p', jsonPatch)
      await kubectl('label', 'cm', 'settings', 'tier=front')
      await kubectl('annotate', 'cm', 'settings', 'note=x')
      const found = JSON.parse(await kubectl('get', 'cm', '-l', 'tier=front', '-o', 'json')).items[0]
      assert.deepEqual(found.data, { colour: 'red', size: '1' })
      assert.equal(found.metadata.annotations.note, 'x')
    })

    test('describes a Service and a Pod', async () => {
      assert.match(await kubectl('describe', 'svc', 'web'), /Type: +NodePort/)
      assert.match(await kubectl('describe', 'pod', 'web-1'), /Status: +Pending/)
    })

    test('watches', async () => {
      const args = ['get', 'cm', 'settings', '-w', '--no-headers', ...options]
      const child = spawn('kubectl', args, { cwd: home, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
      try {
        const lines = linesOf(child)
        assert.match(await lines(), /^settings +2 +/)
        await kubectl('patch', 'cm', 'settings', '--type=merge', '-p', '{"data":{"third":"3"}}')
        assert.match(await lines(), /^settings +3 +/)
      } finally {
        child.kill()
      }
    })

    test('deletes and waits until it is gone', async () => {
      const wait = kubectl('wait', '--for=delete', 'pod/web-1', '--timeout=60s')
      assert.equal(await kubectl('delete', 'pod', 'web-1'), 'pod "web-1" deleted\n')
      await wait
      await kubectl('delete', '-f', 'app.yaml', '--ignore-not-found')
      assert.equal(await kubectl('get', 'svc', 'web', '--ignore-not-found'), '')
    })
  })
}

function linesOf(child: ChildProcess): () => Promise<string> {
  assert.ok(child.stdout)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async () => (await lines.next()).value ?? ''
}
