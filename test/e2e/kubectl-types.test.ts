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
      assert.equal(await run('create', 'secret', 'generic', 's', '--from-literal=key=value'), 'secret/s created\n')
      assert.equal(await run('get', 'secret', 's', '-o', 'jsonpath={.type} {.data}'), 'Opaque {"key":"dmFsdWU="}')
      assert.equal(await run('create', 'serviceaccount', 'robot'), 'serviceaccount/robot created\n')
      assert.equal(await run('create', 'deployment', 'front', '--image=nginx'), 'deployment.apps/front created\n')
      assert.equal(await run('get', 'deployment', 'front', '-o', 'jsonpath={.spec.replicas}'), '1')
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

    test('applies a change to a list by its keys', async () => {
      const { run, file } = kubectl
      const service = (ports: readonly object[]) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'applied' },
        spec: { selector: { app: 'web' }, ports },
      })
      const http = { name: 'http', port: 80 }
      await run('apply', '-f', file('service.json', service([http, { name: 'old', port: 81 }])))
      const before = JSON.parse(await run('get', 'service', 'applied', '-o', 'json'))
      const output = await run(
        'apply',
        '-f',
        file(
          'service.json',
          service([
            { ...http, targetPort: 'web' },
            { name: 'new', port: 82 },
          ]),
        ),
      )
      assert.equal(output, 'service/applied configured\n')
      const { spec } = JSON.parse(await run('get', 'service', 'applied', '-o', 'json'))
      assert.equal(spec.clusterIP, before.spec.clusterIP)
      const ports = spec.ports.map(({ name, targetPort }: { name: string; targetPort: unknown }) => [name, targetPort])
      assert.deepEqual(ports.toSorted(), [
        ['http', 'web'],
        ['new', 82],
      ])
      assert.equal(await run('apply', '-f', 'service.json'), 'service/applied unchanged\n')
    })

    test('lists what there is, with short names, groups and verbs', async () => {
      const { run } = kubectl
      const domain = dialect === 'kubernetes' ? 'k8s.io' : 'platform.internal'
      const resources = await run('api-resources', '-o', 'wide')
      assert.match(
        resources,
        /^pods +po +v1 +true +Pod +create,delete,deletecollection,get,list,patch,update,watch +all$/m,
      )
      const version = dialect === 'kubernetes' ? 'v1' : 'v1beta1'
      assert.match(resources, new RegExp(`^servicecidrs +networking.${domain}/${version} +false +ServiceCIDR `, 'm'))
      assert.match(resources, new RegExp(`^ingresses +ing +networking.${domain}/v1 +true +Ingress `, 'm'))
      const versions = (await run('api-versions')).split('\n')
      for (const name of ['v1', 'apps/v1', `networking.${domain}/v1`, `networking.${domain}/v1beta1`]) {
        assert.ok(versions.includes(name), name)
      }
    })

    test('prints wide tables', async () => {
      const { run, file, server } = kubectl
      const node = {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'a', labels: { 'node-role.kubernetes.io/worker': '' } },
        status: {
          nodeInfo: { kubeletVersion: 'v1.32.0', osImage: 'Debian' },
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        },
      }
      assert.equal((await server.call('POST', '/api/v1/nodes', { body: node })).code, 201)
      assert.equal((await server.call('PUT', '/api/v1/nodes/a/status', { body: node })).code, 200)
      const wideNodes = await run('get', 'nodes', '-o', 'wide')
      assert.match(
        wideNodes,
        /^NAME +STATUS +ROLES +VERSION +AGE +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION +CONTAINER-RUNTIME/,
      )
      assert.match(wideNodes, /^a +Unknown +worker +v1\.32\.0 +\S+ +10\.0\.0\.1 +<none> +Debian +<unknown> +<unknown>/m)
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'wide' }, spec: { containers: [{ name: 'web' }] } }
      await run('create', '-f', file('wide.json', pod))
      assert.match(await run('get', 'pods', '-o', 'wide'), /AGE +IP +NODE +NOMINATED NODE +READINESS GATES\n/)
      const deployment = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: {
          selector: {
            matchLabels: { app: 'web' },
            matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }],
          },
          template: {
            metadata: { labels: { app: 'web', tier: 'a' } },
            spec: { containers: [{ name: 'c', image: 'nginx' }] },
          },
        },
      }
      await run('create', '-f', file('deployment.json', deployment))
      assert.match(await run('get', 'deploy', '-o', 'wide'), /web +0\/1 +0 +0 +\S+ +c +nginx +app=web,tier in \(a,b\)/)
    })
  })
}
