import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionGroups } from '../../../src/app/option-groups.ts'
import { flagName, loadOptions } from '../../../src/config/index.ts'
import { controllerNames } from '../../../src/controllers/controller-names.ts'

const options = Object.values(optionGroups).flatMap((group) => Object.entries(group))

test('No two owners declare the same option, and no two options read the same variable.', () => {
  const keys = options.map(([key]) => key)
  assert.equal(new Set(keys).size, keys.length)
  const variables = options
    .map(([, spec]) => ('env' in spec ? spec.env : undefined))
    .filter((name) => name !== undefined)
  assert.equal(new Set(variables).size, variables.length)
})

for (const [key, spec] of options) {
  test(`The flag of ${key} is its key in kebab-case, and its description is no sentence of its own.`, () => {
    assert.equal(flagName(spec), `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
    assert.match(spec.description, /^[A-Z].*[^.]$/)
  })
}

test('Without any source the options are their defaults.', () => {
  assert.deepEqual(loadOptions(optionGroups, {}).values, {
    app: {
      config: undefined,
      dataDir: '/var/lib/platnet',
      components: [
        'api',
        'controllers',
        'scheduler',
        'proxy',
        'policy',
        'dns',
        'ingress',
        'registration',
        'cni',
        'routes',
        'pods',
      ],
    },
    api: {
      dialect: 'platform',
      platformDomain: 'platform.internal',
      bindAddress: '0.0.0.0',
      securePort: 6443,
      serviceClusterIpRange: ['10.96.0.0/12'],
      nodePortRange: { first: 30000, last: 32767 },
      tokenAuthFile: undefined,
      serviceAccountIssuer: 'https://kubernetes.default.svc.cluster.local',
      shutdownDelay: 0,
      store: 'sqlite',
      authorizationMode: 'RBAC',
      enableAdmissionPlugins: ['NodeRestriction'],
      disableAdmissionPlugins: undefined,
      maxObjectBytes: 1_572_864,
      maxStoreBytes: undefined,
      maxRequestsInflight: 400,
      etcdCafile: undefined,
      etcdCertfile: undefined,
      etcdKeyfile: undefined,
      etcdPasswordFile: undefined,
      etcdPrefix: '/platnet',
      etcdServers: undefined,
      etcdUsername: undefined,
      kubeletCertificateAuthority: undefined,
      kubeletClientCertificate: undefined,
      kubeletClientKey: undefined,
      kubeletPreferredAddressTypes: ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
      sweepNamespaces: true,
      maxMutatingRequestsInflight: 200,
      maxWatches: 10_000,
    },
    controllers: {
      controllers: [...controllerNames],
      controllerManagerPort: 8080,
      schedulerPort: 8081,
      nodeMonitorGracePeriod: 40_000,
      eventTtl: 3_600_000,
      leaderElectLeaseDuration: 15_000,
      leaderElect: true,
      clusterSigningDuration: 365 * 24 * 3_600_000,
      concurrentHorizontalPodAutoscalerSyncs: 5,
      horizontalPodAutoscalerCpuInitializationPeriod: 300_000,
      horizontalPodAutoscalerDownscaleStabilization: 300_000,
      horizontalPodAutoscalerInitialReadinessDelay: 30_000,
      horizontalPodAutoscalerSyncPeriod: 15_000,
      horizontalPodAutoscalerTolerance: 0.1,
    },
    console: { console: true, consolePort: 10251, serverConsolePort: 10252 },
    node: {
      kubeconfig: undefined,
      server: undefined,
      nodeName: undefined,
      nodeIp: undefined,
      port: 10250,
      clusterCidr: ['10.244.0.0/16'],
      publicMetrics: false,
      controlSocket: '/run/platnet/agent.sock',
    },
    proxy: {
      affinityForm: 'recent',
      affinityHardTimeout: false,
      conntrackMaxPerCore: 32_768,
      conntrackMin: 131_072,
      conntrackTcpBeLiberal: false,
      conntrackTcpGrace: undefined,
      conntrackTcpTimeoutCloseWait: 3_600_000,
      conntrackTcpTimeoutEstablished: 86_400_000,
      conntrackUdpTimeout: 0,
      conntrackUdpTimeoutStream: 0,
      detectLocalMode: 'ClusterCIDR',
      masqueradeAll: false,
      masqueradeBit: 14,
      masqueradeRandomFully: true,
      acceptPodTraffic: 'auto',
      noLocalEndpoints: 'drop',
      maxServiceRules: 100_000,
      nodePortAddresses: undefined,
      podBridgeInterface: undefined,
      podInterfaceNamePrefix: undefined,
      proxyHealthzAddress: '0.0.0.0',
      proxyHealthzPort: 10256,
      proxyMetricsAddress: '127.0.0.1',
      proxyMetricsPort: 10249,
      proxyMode: 'iptables',
    },
    policy: { policyUnknownPods: 'allow', policyLogDenied: undefined },
    ingress: {
      ingressDriver: 'auto',
      ingressHttpAddresses: [
        { ip: '0.0.0.0', port: 80 },
        { ip: '::', port: 80 },
      ],
      ingressHttpsAddresses: [
        { ip: '0.0.0.0', port: 443 },
        { ip: '::', port: 443 },
      ],
      ingressControllerName: undefined,
      ingressDefaultCertificate: undefined,
      ingressAddress: undefined,
      ingressMaxHeaderBytes: 16_384,
      ingressMaxConnections: 10_000,
      ingressConnectionsPerClient: 1_000,
      ingressRequestsPerClient: 0,
      ingressMaxBodyBytes: 1_073_741_824,
      ingressHeaderTimeout: 10_000,
      ingressIdleTimeout: 60_000,
      ingressBackendTimeout: 60_000,
      ingressAccessLog: 0,
    },
    dns: {
      clusterDns: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      corefile: undefined,
      dnsConfigMapFiles: undefined,
    },
    cni: { cniConfDir: '/etc/cni/net.d', cniBinDir: ['/opt/cni/bin', '/usr/lib/cni'], cniCacheDir: '/var/lib/cni' },
    pods: {
      runPods: false,
      podHostFolders: undefined,
      podRootFilesystems: undefined,
      podNetwork: 'auto',
      engineSocket: undefined,
      podsDir: undefined,
    },
    observe: { logLevel: 'info', logFormat: 'auto' },
  })
})

test('An agent that is started alone serves no Ingresses unless it is asked to, one of platnet run does.', () => {
  const ofAgent = loadOptions(optionGroups, { command: 'agent' }).values.app.components
  const ofRun = loadOptions(optionGroups, { command: 'run' }).values.app.components
  assert.ok(ofRun.includes('ingress'))
  assert.deepEqual(ofAgent.toSorted(), ['cni', 'dns', 'pods', 'policy', 'proxy', 'registration', 'routes'])
  const asked = loadOptions(optionGroups, { command: 'agent', flags: { components: 'ingress,dns' } })
  assert.deepEqual(asked.values.app.components, ['ingress', 'dns'])
})

test('Addresses of Ingresses have a port each, an IPv6 address in brackets.', () => {
  const read = (text: string) => {
    const { values, resolved } = loadOptions(optionGroups, { flags: { ingressHttpAddresses: text } })
    const shown = resolved.find(({ key }) => key === 'ingressHttpAddresses')?.shown
    return [values.ingress.ingressHttpAddresses.length, String(shown)]
  }
  assert.deepEqual(read('192.0.2.1:8080, [2001:db8::1]:80'), [2, '192.0.2.1:8080,[2001:db8::1]:80'])
  assert.deepEqual(read('none'), [0, 'none'])
  for (const text of [
    '192.0.2.1',
    '2001:db8::1:80',
    '[192.0.2.1]:80',
    'localhost:80',
    '192.0.2.1:0',
    '192.0.2.1:70000',
    '',
  ])
    assert.throws(() => read(text), /ingress-http-addresses: expected addresses with ports/, text)
})

test('The variables are those that the specification names.', () => {
  const env = { NODEAGENT_PORT: '10251', RUST_LOG: 'warn,platform_dns=debug' }
  const { values } = loadOptions(optionGroups, { env })
  assert.equal(values.node.port, 10251)
  assert.equal(values.observe.logLevel, 'warn,platform_dns=debug')
})
