import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Kubectl, missingKubectl, startKubectl } from '../helpers/kubectl.ts'

const skip = missingKubectl()

for (const dialect of ['kubernetes', 'platform'] as const) {
  describe(`kubectl's typed commands and documents in the ${dialect} dialect`, { skip }, () => {
    let kubectl: Kubectl
    before(async () => {
      kubectl = await startKubectl(dialect)
    })
    after(async () => kubectl[Symbol.asyncDispose]())

    test('creates what it sends as protobuf', async () => {
      const { run } = kubectl
      assert.equal(await run('create', 'namespace', 'shop'), 'namespace/shop created\n')
      assert.equal(await run('create', 'configmap', 'c', '--from-literal=a=1'), 'configmap/c created\n')
      assert.equal(await run('get', 'configmap', 'c', '-o', 'jsonpath={.data}'), '{"a":"1"}')
      assert.equal(await run('create', 'service', 'clusterip', 'web', '--tcp=80:8080'), 'service/web created\n')
      const service = JSON.parse(await run('get', 'service', 'web', '-o', 'json'))
      assert.equal(service.spec.type, 'ClusterIP')
      const port = { name: '80-8080', port: 80, protocol: 'TCP', targetPort: 8080 }
      assert.deepEqual(service.spec.ports, [port])
      assert.equal(await run('create', 'service', 'nodeport', 'np', '--tcp=80'), 'service/np created\n')
      assert.equal(
        await run('create', 'service', 'externalname', 'out', '--external-name=example.com'),
        'service/out created\n',
      )
    })

    test('validates and explains by the documents of the server', async () => {
      const { run, file } = kubectl
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web-1' },
        spec: { containers: [{ name: 'web' }] },
      }
      assert.equal(await run('create', '-f', file('pod.json', pod)), 'pod/web-1 created\n')
      const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: '1' } }
      assert.equal(await run('apply', '-f', file('settings.json', settings)), 'configmap/settings created\n')
      assert.equal(await run('replace', '-f', 'settings.json'), 'configmap/settings replaced\n')
      assert.match(await run('explain', 'pod.spec.containers'), /imagePullPolicy\t<string>/)
      assert.match(await run('explain', 'endpointslices', '--recursive'), /addressType\t<string> -required-/)
    })
  })
}
