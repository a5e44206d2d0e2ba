import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { parse, parseAllDocuments } from 'yaml'
import { optionGroups } from '../../../src/app/option-groups.ts'
import { loadKubeconfig } from '../../../src/client/index.ts'
import { type CommandName, flagName, isTakenBy, loadOptions, parseConfigFile } from '../../../src/config/index.ts'
import { startTestServer } from '../../helpers/api-server.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const root = resolve(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Objects of one manifest of `deploy/kubernetes`. */
function objectsOf(name: string) {
  return parseAllDocuments(read(`deploy/kubernetes/${name}.yaml`)).map((document) => {
    assert.deepEqual(document.errors, [])
    return document.toJS()
  })
}

const manifests = [
  'rbac',
  'rbac-ingress',
  'daemonset',
  'kube-dns',
  'remove-kube-proxy-rules',
  'remove-platnet-rules',
] as const
const [configMap, daemonSet] = objectsOf('daemonset')
const pod = daemonSet.spec.template.spec
const [container] = pod.containers
// YAML 1.1 merges keys by `<<`, and engines read compose files so.
const compose = parse(read('deploy/container/compose.yaml'), { merge: true })
const { server, credentials, agent } = compose.services

/** The value that a compose file gives where the variable is not set. */
const withDefaults = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')

/** Loads the options that a command line gives; throws for a flag, key or value that the command does not take. */
function optionsOf(command: CommandName, args: readonly string[], config = '') {
  const specs = Object.values(optionGroups).flatMap((group) => Object.entries(group))
  const flags = args.map((arg): [string, string] => {
    const [, name, value = ''] = /^(--[a-z-]+)=(.*)$/.exec(arg) ?? []
    const found = specs.find(([, spec]) => flagName(spec) === name && isTakenBy(command, spec))
    assert.ok(found, `${arg} is a flag of platnet ${command}`)
    return [found[0], value]
  })
  const sources = { command, flags: Object.fromEntries(flags), file: parseConfigFile('config.yaml', config) }
  return loadOptions(optionGroups, sources).values
}

const argumentsOf = (service: { command: string[] }): string[] => service.command.slice(1).map(withDefaults)
const agentOptions = optionsOf('agent', argumentsOf(agent))
const podArgs: string[] = container.args
  .slice(1)
  .map((arg: string) => arg.replace('$(NODE_NAME)', 'node-1').replace('$(NODE_IP)', '192.0.2.11'))
const podOptions = optionsOf(
  'agent',
  podArgs.filter((arg) => !arg.startsWith('--config=')),
  configMap.data['config.yaml'],
)

const pathsOfKinds: Readonly<Record<string, string>> = {
  ServiceAccount: 'api/v1/namespaces/kube-system/serviceaccounts',
  ConfigMap: 'api/v1/namespaces/kube-system/configmaps',
  Service: 'api/v1/namespaces/kube-system/services',
  DaemonSet: 'apis/apps/v1/namespaces/kube-system/daemonsets',
  ClusterRole: 'apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: 'apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: 'apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles',
  RoleBinding: 'apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings',
}

describe('the manifests for a Kubernetes cluster', () => {
  test('The API core accepts every object with strict field validation, and refuses one with an unknown field.', async () => {
    await using api = await startTestServer({ dialect: 'kubernetes' })
    const create = async (body: { kind: string }) =>
      api.call('POST', `/${pathsOfKinds[body.kind]}?dryRun=All&fieldValidation=Strict`, { body })
    for (const object of manifests.flatMap(objectsOf)) {
      const { code, text } = await create(object)
      assert.equal(code, 201, `${object.kind} ${object.metadata.name}: ${text}`)
    }
    const wrong = structuredClone(daemonSet)
    wrong.spec.template.spec.containers[0].securityContext.capability = {}
    assert.equal((await create(wrong)).code, 400)
  })

  test('One manifest has all that an agent needs, Ingress apart.', () => {
    const { resources } = parse(read('deploy/kubernetes/kustomization.yaml'))
    assert.deepEqual(resources, ['rbac.yaml', 'kube-dns.yaml', 'daemonset.yaml'])
  })

  test('What removes rules waits for the port of the agent, and reads the configuration that the agent had.', () => {
    const [before] = objectsOf('remove-kube-proxy-rules')[0].spec.template.spec.initContainers
    assert.ok(before.command.at(-1).includes(`https://127.0.0.1:${podOptions.node.port}/readyz`))
    const { initContainers, volumes } = objectsOf('remove-platnet-rules')[0].spec.template.spec
    assert.ok(
      volumes.some(({ configMap: from }: { configMap?: object }) => isDeepStrictEqual(from, { name: 'platnet' })),
    )
    const [, command = ''] = /until platnet ([^;]*);/.exec(initContainers[1].command.at(-1)) ?? []
    assert.equal(command, 'cleanup --yes --keep-pods --config=/etc/platnet/config.yaml')
  })

  test('Every mount has a volume, and every volume is mounted.', () => {
    const mounts = [...pod.initContainers, ...pod.containers].flatMap((each) => each.volumeMounts)
    const names = (list: readonly { name: string }[]) => [...new Set(list.map(({ name }) => name))].sort()
    assert.deepEqual(names(mounts), names(pod.volumes))
    const config = mounts.find(({ name }) => name === 'config').mountPath
    assert.ok(container.args.includes(`--config=${config}/config.yaml`))
    assert.equal(podOptions.node.kubeconfig, `${config}/kubeconfig`)
    const { dataDir } = podOptions.app
    for (const folder of [dataDir, '/run/platnet', '/var/cache/platnet', '/tmp'])
      assert.ok(mounts.some(({ mountPath }) => mountPath === folder))
  })

  test('The kubeconfig reads the token of the ServiceAccount from its file, each time it is used.', async (context) => {
    const folder = makeTemporaryFolder(context)
    await using api = await startTestServer()
    writeFileSync(join(folder, 'ca.crt'), api.authority.certPem)
    const text = configMap.data.kubeconfig.replaceAll('/var/run/secrets/kubernetes.io/serviceaccount', folder)
    writeFileSync(join(folder, 'kubeconfig'), text)
    const access = await loadKubeconfig(join(folder, 'kubeconfig'))
    assert.deepEqual(access.bearer, { kind: 'file', path: join(folder, 'token') })
    assert.equal(access.skipTlsVerify, false)
  })

  test('Probes ask the port of the agent, which is not that of the kubelet, for paths that it serves.', () => {
    const { port } = podOptions.node
    assert.notEqual(port, 10250)
    const ports = new Map(container.ports.map((each: { name: string }) => [each.name, each]))
    assert.deepEqual(ports.get('metrics'), { name: 'metrics', containerPort: port, hostPort: port })
    const healthz = podOptions.proxy.proxyHealthzPort
    assert.deepEqual(ports.get('healthz'), { name: 'healthz', containerPort: healthz, hostPort: healthz })
    for (const [probe, path] of Object.entries({ startup: '/readyz', readiness: '/readyz', liveness: '/livez' }))
      assert.deepEqual(container[`${probe}Probe`].httpGet, { scheme: 'HTTPS', port: 'metrics', path })
  })

  test('The account is that of the roles, and the components are among those whose rights the roles cover.', () => {
    const [account] = objectsOf('rbac')
    assert.equal(pod.serviceAccountName, account.metadata.name)
    assert.equal(daemonSet.metadata.namespace, account.metadata.namespace)
    const [, covered = ''] = /--components ([a-z,]+)/.exec(read('README.md')) ?? []
    for (const component of podOptions.app.components) assert.ok(covered.split(',').includes(component), component)
    const dns = podOptions.dns.clusterDns
    assert.deepEqual(
      objectsOf('kube-dns').map(({ spec }) => spec.clusterIP),
      dns,
    )
  })
})

describe('the compose file', () => {
  test('Every flag and variable is one that the command takes.', () => {
    assert.equal(agent.command[0], 'agent')
    assert.deepEqual(server.command, ['server'])
    assert.deepEqual(credentials.command.slice(0, 2), ['server', 'kubeconfig'])
    assert.equal(agentOptions.node.nodeName, credentials.command[2].replace(/^.*:-(.*)\}$/, '$1'))
    assert.equal(`--out=${agentOptions.node.kubeconfig}`, credentials.command[3])
    for (const { environment } of [server, agent])
      assert.deepEqual(Object.keys(environment), [optionGroups.observe.logLevel.env])
  })

  test('Health checks ask the endpoints of the ports table, and fail where one of them fails.', () => {
    const urlsOf = ({ healthcheck }: typeof server): string[] =>
      healthcheck.test.filter((word: string) => /^https?:/.test(word))
    const { securePort } = optionsOf('server', argumentsOf(server)).api
    assert.deepEqual(urlsOf(server), [`https://127.0.0.1:${securePort}/readyz`])
    const { node, proxy } = agentOptions
    assert.deepEqual(urlsOf(agent), [
      `https://127.0.0.1:${node.port}/readyz`,
      `http://127.0.0.1:${proxy.proxyHealthzPort}/healthz`,
    ])
    for (const { healthcheck } of [server, agent]) {
      assert.deepEqual(healthcheck.test.slice(0, 2), ['CMD', 'curl'])
      assert.ok(healthcheck.test.includes('--fail'))
    }
    assert.ok(agent.healthcheck.test.includes('--fail-early'), 'a second URL that answers does not hide the first')
  })

  test('The agent starts once the server is healthy and its credentials are written.', () => {
    assert.deepEqual(credentials.depends_on, { server: { condition: 'service_healthy' } })
    assert.deepEqual(agent.depends_on, { credentials: { condition: 'service_completed_successfully' } })
  })

  test('No service gets more than it needs: a root filesystem that cannot be written, no new privileges, the host network alone.', () => {
    for (const service of [server, credentials, agent]) {
      assert.equal(service.read_only, true)
      assert.deepEqual(service.cap_drop, ['ALL'])
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'])
      assert.equal(service.network_mode, 'host')
      assert.equal(service.privileged ?? service.pid ?? service.ipc, undefined)
    }
    assert.equal(server.cap_add ?? credentials.cap_add, undefined)
    assert.ok(!agent.volumes.some((volume: string) => volume.startsWith('server:')), 'the key of the CA')
  })
})

test('The agent has the capabilities that the document lists, in the compose file and in the DaemonSet.', () => {
  const [, section = ''] = read('docs/containers.md').split('\n## Capabilities\n')
  const listed = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(agent.cap_add, listed)
  assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'], add: listed })
  assert.equal(container.securityContext.privileged, undefined)
})

test('The recipe of the image brings no secret, starts platnet and leaves the health check to the service.', () => {
  const lines = read('deploy/container/Containerfile').split('\n')
  const instructions = lines.filter((line) => /^[A-Z]+ /.test(line)).map((line) => line.split(' ')[0])
  assert.ok(lines.includes('ENTRYPOINT ["platnet"]'))
  assert.ok(lines.includes('STOPSIGNAL SIGTERM'))
  assert.ok(!instructions.includes('HEALTHCHECK'))
  const copies = lines.filter((line) => line.startsWith('COPY'))
  assert.deepEqual(copies.length, 1)
  assert.match(copies[0] ?? '', /^COPY \$\{DEB\} /)
})
