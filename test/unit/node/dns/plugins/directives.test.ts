import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ServerBlock } from '../../../../../src/node/dns/plugins/server-block.ts'
import { nameText } from '../../../../../src/node/dns/wire/name.ts'
import { blockOf } from '../../../../helpers/corefiles.ts'

describe('the plugins of a Corefile', () => {
  const read = <Key extends keyof ServerBlock>(key: Key, text: string) => blockOf(text)[key]

  test('errors', () => {
    assert.deepEqual(read('errors', 'errors stdout {\n stacktrace\n consolidate 5m "^a .*" warning show_first\n}'), {
      stacktrace: true,
      consolidate: [{ periodMs: 300_000, pattern: '^a .*', level: 'warning', showFirst: true }],
    })
  })

  test('log', () => {
    const rules = read('log', 'log a b "{combined}" {\n class denial error\n}\nlog c')
    assert.deepEqual(
      rules.map(({ zone, classes }) => [nameText(zone), classes]),
      [
        ['a.', ['denial', 'error']],
        ['b.', ['denial', 'error']],
        ['c.', ['all']],
      ],
    )
    assert.match(rules[0]?.format ?? '', /^\{remote\}.*\{>opcode\}"$/)
  })

  test('health, ready, prometheus with addresses', () => {
    assert.deepEqual(read('health', 'health 127.0.0.1:8090'), {
      listen: { address: '127.0.0.1', port: 8090 },
      lameduckMs: 0,
    })
    assert.deepEqual(read('ready', 'ready [::1]:9 {\n monitor continuously\n}'), {
      listen: { address: '::1', port: 9 },
      monitor: 'continuously',
    })
    assert.deepEqual(read('prometheus', 'prometheus localhost:9253 {\n runtime_metrics\n}'), {
      listen: { address: '127.0.0.1', port: 9253 },
    })
  })

  test('kubernetes with every option', () => {
    const { zones, fallthrough, ignored, ...settings } =
      read(
        'kubernetes',
        `kubernetes cluster.local 10.0.0.0/8 {
          endpoint https://a:6443
          tls cert key ca
          kubeconfig file context
          apiserver_qps 5
          apiserver_burst 5
          apiserver_max_inflight 5
          namespaces a b
          pods verified
          endpoint_pod_names
          ttl 0
          noendpoints
          fallthrough
          ignore empty_service
          startup_timeout 1m
        }`,
      ) ?? assert.fail()
    assert.deepEqual(
      zones.map((zone) => nameText(zone)),
      ['cluster.local.', '10.in-addr.arpa.'],
    )
    assert.equal(fallthrough, 'all')
    assert.deepEqual(settings, {
      ttl: 0,
      pods: 'verified',
      endpointPodNames: true,
      useEndpoints: false,
      ignoreEmptyServices: true,
      namespaces: ['a', 'b'],
    })
    assert.equal(ignored.length, 7)
    assert.partialDeepStrictEqual(
      read('kubernetes', 'kubernetes {\n labels a in (b, c),d\n namespace_labels e!=f\n}'),
      {
        labels: [
          { key: 'a', operator: 'in', values: ['b', 'c'] },
          { key: 'd', operator: 'exists', values: [] },
        ],
        namespaceLabels: [{ key: 'e', operator: 'notin', values: ['f'] }],
      },
    )
    assert.deepEqual(
      read('kubernetes', 'kubernetes')?.zones.map((zone) => nameText(zone)),
      ['example.org.'],
    )
    assert.deepEqual([read('kubernetes', 'kubernetes')?.ttl, read('kubernetes', 'kubernetes')?.pods], [5, 'disabled'])
  })

  test('forward with every option', () => {
    const [rule] = read(
      'forward',
      `forward Example.ORG 10.0.0.1 [fd00::1]:5353 tls://9.9.9.9 /etc/resolv.conf {
        except a.example.org 10.0.0.0/8
        force_tcp
        expire 20s
        max_age 1h
        max_idle_conns 5
        read_timeout 1500ms
        source_address 10.0.0.9
        max_fails 3
        max_connect_attempts 4
        tls cert key ca
        tls_servername dns.example
        policy round_robin
        health_check 2s no_rec domain example.org
        max_concurrent 7
        next NXDOMAIN SERVFAIL
        next_on_nodata
        failover REFUSED
        failfast_all_unhealthy_upstreams
      }`,
    )
    assert.ok(rule)
    const { from, except, location, ...settings } = rule
    assert.equal(nameText(from), 'example.org.')
    assert.deepEqual(
      except.map((zone) => nameText(zone)),
      ['a.example.org.', '10.in-addr.arpa.'],
    )
    assert.deepEqual(location, { file: 'Corefile', line: 2 })
    assert.deepEqual(settings, {
      to: [
        { kind: 'address', address: '10.0.0.1', port: 53, overTls: false },
        { kind: 'address', address: 'fd00::1', port: 5353, overTls: false },
        { kind: 'address', address: '9.9.9.9', port: 853, overTls: true },
        { kind: 'file', path: '/etc/resolv.conf' },
      ],
      policy: 'round_robin',
      forceTcp: true,
      preferUdp: false,
      expireMs: 20_000,
      maxAgeMs: 3_600_000,
      maxIdleConnections: 5,
      readTimeoutMs: 1500,
      sourceAddress: '10.0.0.9',
      maxFails: 3,
      maxConnectAttempts: 4,
      tls: {
        location: { file: 'Corefile', line: 12 },
        certificate: 'cert',
        key: 'key',
        authority: 'ca',
        serverName: 'dns.example',
      },
      healthCheck: { intervalMs: 2000, recursion: false, domain: 'example.org' },
      maxConcurrent: 7,
      next: [3, 2],
      nextOnNodata: true,
      failover: [5],
      failfastAllUnhealthy: true,
    })
  })

  test('force_tcp overrides prefer_udp', () => {
    const [rule] = read('forward', 'forward . 1.1.1.1 {\n prefer_udp\n force_tcp\n}')
    assert.deepEqual([rule?.forceTcp, rule?.preferUdp], [true, false])
  })

  test('cache in both spellings of kubeadm, and with every option', () => {
    const plain = read('cache', 'cache 30')
    assert.equal(plain?.settings.success.maxTtlSeconds, 30)
    const disabled = read(
      'cache',
      'cache 30 {\n disable success cluster.local\n disable denial cluster.local\n}',
    )?.settings
    assert.deepEqual(
      [disabled?.success, disabled?.denial].map((side) => side?.disabledZones.map((zone) => nameText(zone))),
      [['cluster.local.'], ['cluster.local.']],
    )
    const { zones, settings } =
      read(
        'cache',
        `cache 60 a b {
          success 5000 100 2
          denial 2500 50
          prefetch 10 2m 20%
          serve_stale 1h verify 300ms 5s 1m
          serve_stale_policy prefer_positive
          servfail 0
          keepttl
        }`,
      ) ?? assert.fail()
    assert.deepEqual(
      zones.map((zone) => nameText(zone)),
      ['a.', 'b.'],
    )
    assert.deepEqual(settings, {
      success: { capacity: 5000, maxTtlSeconds: 100, minTtlSeconds: 2, disabledZones: [] },
      denial: { capacity: 2500, maxTtlSeconds: 50, minTtlSeconds: 0, disabledZones: [] },
      prefetch: { amount: 10, withinMs: 120_000, percentage: 20 },
      serveStale: {
        forMs: 3_600_000,
        mode: 'verify',
        verifyTimeoutMs: 300,
        ttlSeconds: 5,
        recheckMs: 60_000,
        prefersPositive: true,
      },
      servfailMs: 0,
      keepTtl: true,
    })
  })

  test('reload, loadbalance, bind', () => {
    assert.deepEqual(read('reload', 'reload 10s 2s'), { intervalMs: 10_000, jitterMs: 2000 })
    assert.deepEqual(read('reload', 'reload 4s'), { intervalMs: 4000, jitterMs: 2000 })
    assert.deepEqual(read('reload', 'reload 10s 6s'), { intervalMs: 10_000, jitterMs: 5000 })
    assert.deepEqual(read('loadbalance', 'loadbalance weighted file {\n reload 5s\n prefer 10.0.0.0/8 ::1\n}'), {
      policy: 'weighted',
      location: { file: 'Corefile', line: 2 },
      file: 'file',
      reloadMs: 5000,
      prefer: ['10.0.0.0/8', '::1/128'],
    })
    assert.deepEqual(read('bind', 'bind 127.0.0.1 eth0 {\n except ::1\n}\nbind ::1'), [
      { addresses: ['127.0.0.1', 'eth0'], except: ['::1'] },
      { addresses: ['::1'], except: [] },
    ])
  })

  test('hosts', () => {
    const { zones, ...settings } =
      read('hosts', 'hosts /etc/h a 10.0.0.0/8 {\n 10.0.0.1 x y\n ttl 60\n no_reverse\n reload 0\n fallthrough a\n}') ??
      assert.fail()
    assert.deepEqual(
      zones.map((zone) => nameText(zone)),
      ['a.', '10.in-addr.arpa.'],
    )
    const { fallthrough, location, ...rest } = settings
    assert.deepEqual(location, { file: 'Corefile', line: 2 })
    assert.equal(fallthrough?.length, 1)
    assert.deepEqual(rest, {
      file: '/etc/h',
      namesFile: true,
      inline: ['10.0.0.1 x y'],
      ttl: 60,
      reverse: false,
      reloadMs: 0,
    })
    assert.equal(read('hosts', 'hosts')?.file, '/etc/hosts')
  })

  for (const [text, expected] of [
    ['name a.Org b.org', { field: 'name', match: 'exact', from: 'a.org.', to: 'b.org.', auto: true, answer: [] }],
    [
      'continue name suffix .a .b answer auto',
      { next: 'continue', match: 'suffix', from: '.a.', to: '.b.', auto: true },
    ],
    ['name prefix a- b-', { match: 'prefix', from: 'a-', to: 'b-', auto: false }],
    ['name substring x y', { match: 'substring', from: 'x', to: 'y' }],
    [
      'name regex (.*)\\.a {1}.b answer name (.*)\\.b {1}.a answer value x y',
      {
        match: 'regex',
        from: '(.*)\\.a',
        to: '{1}.b',
        answer: [
          { part: 'name', pattern: '(.*)\\.b', replacement: '{1}.a' },
          { part: 'value', pattern: 'x', replacement: 'y' },
        ],
      },
    ],
    ['stop {\n name regex a b\n answer name b a\n}', { next: 'stop', match: 'regex' }],
    ['type ANY HINFO', { field: 'type', from: 255, to: 13 }],
    ['class CH IN', { field: 'class', from: 3, to: 1 }],
    ['ttl example.org 60', { field: 'ttl', match: 'exact', from: 'example.org.', min: 60, max: 60 }],
    ['ttl regex .* 30-300', { match: 'regex', min: 30, max: 300 }],
    ['ttl suffix .x -300', { match: 'suffix', min: 0, max: 300 }],
    ['ttl suffix .x 30-', { min: 30, max: 0x7fff_ffff }],
  ] as const) {
    test(`rewrite ${text}`, () => assert.partialDeepStrictEqual(read('rewrite', `rewrite ${text}`)[0], expected))
  }

  test('template', () => {
    const [template] = read(
      'template',
      `template IN A example.org {
        match "^a-(?P<n>[0-9]+)[.]example[.]org[.]$" b
        answer "{{ .Name }} 60 IN A 10.0.0.{{ .Group.n }}"
        additional x
        authority y
        rcode NXDOMAIN
        ederror 21 "not here"
        upstream
        fallthrough
      }`,
    )
    assert.ok(template)
    const { zones, location, ...settings } = template
    assert.deepEqual(settings, {
      class: 1,
      type: 1,
      match: ['^a-(?P<n>[0-9]+)[.]example[.]org[.]$', 'b'],
      answer: ['{{ .Name }} 60 IN A 10.0.0.{{ .Group.n }}'],
      additional: ['x'],
      authority: ['y'],
      rcode: 3,
      extendedError: { code: 21, reason: 'not here' },
      fallthrough: 'all',
    })
  })

  for (const [text, address, port, serverName] of [
    ['9.9.9.9', '9.9.9.9', 853, undefined],
    ['9.9.9.9:8853', '9.9.9.9', 8853, undefined],
    ['9.9.9.9%dns.example', '9.9.9.9', 853, 'dns.example'],
    ['9.9.9.9%dns.example:8853', '9.9.9.9', 8853, 'dns.example'],
    ['9.9.9.9:8853%dns.example', '9.9.9.9', 8853, 'dns.example'],
    ['2620:fe::fe%dns.example', '2620:fe::fe', 853, 'dns.example'],
    ['[2620:fe::fe%dns.example]', '2620:fe::fe', 853, 'dns.example'],
    ['[2620:fe::fe%dns.example]:8853', '2620:fe::fe', 8853, 'dns.example'],
    ['[2620:fe::fe]%dns.example:8853', '2620:fe::fe', 8853, 'dns.example'],
    ['[2620:fe::fe]:8853%dns.example', '2620:fe::fe', 8853, 'dns.example'],
  ] as const) {
    test(`forward over TLS to ${text}`, () => {
      const [target] = blockOf(`forward . tls://${text}`).forward[0]?.to ?? []
      const name = serverName === undefined ? {} : { serverName }
      assert.deepEqual(target, { kind: 'address', address, port, overTls: true, ...name })
    })
  }

  for (const [text, expected] of [
    ['serve_stale', ['immediate', 3_600_000, 0, 0, 0]],
    ['serve_stale 2h VERIFY', ['verify', 7_200_000, 0, 0, 0]],
    ['serve_stale 1h verify 0 30s', ['verify', 3_600_000, 0, 30, 0]],
    ['serve_stale 1h Immediate 30s 5m', ['immediate', 3_600_000, 0, 30, 300_000]],
    ['serve_stale +1.5h verify .5s', ['verify', 5_400_000, 500, 0, 0]],
  ] as const) {
    test(text, () => {
      const stale = blockOf(`cache {\n${text}\nserve_stale_policy PREFER_POSITIVE\n}`).cache?.settings.serveStale
      const { mode, forMs, verifyTimeoutMs, ttlSeconds, recheckMs } = stale ?? assert.fail()
      assert.deepEqual([mode, forMs, verifyTimeoutMs, ttlSeconds, recheckMs], expected)
      assert.equal(stale?.prefersPositive, true)
    })
  }

  test("a duration beyond a timer's range becomes the longest one, and 0 the shortest", () => {
    const { forward, errors } = blockOf(
      'forward . 1.1.1.1 {\nexpire 100000h\nhealth_check 100000h\n}\nerrors {\nconsolidate 0 x\nconsolidate 100000h y\n}',
    )
    assert.deepEqual([forward[0]?.expireMs, forward[0]?.healthCheck.intervalMs], [0x7fff_ffff, 0x7fff_ffff])
    assert.deepEqual(
      errors?.consolidate.map(({ periodMs }) => periodMs),
      [1, 0x7fff_ffff],
    )
  })

  test('numbers are those of Go: signed with +, and beyond 31 bits where nothing bounds them', () => {
    const { forward, cache } = blockOf(
      'forward . 1.1.1.1 {\nmax_concurrent 99999999999\n}\ncache +5 {\nsuccess 2147483648 +7\n}',
    )
    assert.equal(forward[0]?.maxConcurrent, 0x7fff_ffff)
    assert.deepEqual([cache?.settings.success.capacity, cache?.settings.success.maxTtlSeconds], [0x7fff_ffff, 7])
    assert.equal(cache?.settings.denial.maxTtlSeconds, 5)
  })

  test('a scheme or a port at a zone of forward has no effect', () => {
    const { forward } = blockOf('forward dns://Example.net:53 1.1.1.1 {\nexcept a.example.net:53 10.0.0.0/8\n}')
    assert.equal(nameText(forward[0]?.from ?? Buffer.of(0)), 'example.net.')
    assert.deepEqual(
      forward[0]?.except.map((zone) => nameText(zone)),
      ['a.example.net.', '10.in-addr.arpa.'],
    )
  })

  test('hosts takes addresses with the zone of a link', () => {
    assert.deepEqual(blockOf('hosts {\nfe80::1%eth0 a\n}').hosts?.inline, ['fe80::1%eth0 a'])
  })

  test('kubernetes takes rates with a fraction, as CoreDNS does', () => {
    const { ignored } = blockOf('kubernetes {\napiserver_qps 50.0\napiserver_burst 10\n}').kubernetes ?? assert.fail()
    assert.deepEqual(
      ignored.map(({ name }) => name),
      ['apiserver_qps', 'apiserver_burst'],
    )
  })
})
