import { changes, creates, emptyIsAbsent, type KindCases, otherWords, replaces } from './write-case.ts'

const group = '/apis/networking.k8s.io/v1'
const ingressPath = `${group}/namespaces/default/ingresses`
const service = { name: 'web', port: { number: 80 } }
const backend = { service }
const path0 = 'spec.rules[0].http.paths[0]'

const spec = (change: object) => ({ spec: change })
const rule = (change: object) => spec({ rules: [change] })
const path = (change: object) => rule({ http: { paths: [{ path: '/', pathType: 'Prefix', backend, ...change }] } })
const backed = (value: object) => path({ backend: value })
const served = (change: object) => backed({ service: { ...service, ...change } })
const tls = (entry: object) => spec({ defaultBackend: backend, tls: [entry] })

const ingress = creates(ingressPath, { metadata: { name: 'new' }, ...path({}) })

const paths = [
  ingress('a path type of none', path({ pathType: null }), [`Required ${path0}.pathType`]),
  ingress('a path type that is none', path({ pathType: 'Regex' }), [`NotSupported ${path0}.pathType`]),
  ingress('an unknown path type and no backend', path({ pathType: 'Regex', backend: {} }), [
    `NotSupported ${path0}.pathType`,
    `Invalid ${path0}.backend`,
  ]),
  ingress('no path type and no backend', path({ pathType: null, backend: {} }), [`Required ${path0}.pathType`]),
  ingress('a relative path', path({ path: 'web' }), [`Invalid ${path0}.path`]),
  ingress('an empty path of a prefix', path({ path: '' }), [`Invalid ${path0}.path`]),
  ingress('an absent path of an exact match', path({ path: null, pathType: 'Exact' }), [`Invalid ${path0}.path`]),
  ingress('an empty path that the class reads', path({ path: '', pathType: 'ImplementationSpecific' })),
  ingress('a relative path that the class reads', path({ path: 'web', pathType: 'ImplementationSpecific' }), [
    `Invalid ${path0}.path`,
  ]),
  ingress('two slashes that the class reads', path({ path: '//', pathType: 'ImplementationSpecific' })),
  ingress('two slashes', path({ path: '/a//b' }), [`Invalid ${path0}.path`]),
  ingress('a dot between slashes', path({ path: '/a/./b' }), [`Invalid ${path0}.path`]),
  ingress('two dots between slashes', path({ path: '/a/../b' }), [`Invalid ${path0}.path`]),
  ingress('two dots at the end', path({ path: '/a/..' }), [`Invalid ${path0}.path`]),
  ingress('a dot at the end', path({ path: '/a/.' }), [`Invalid ${path0}.path`]),
  ingress('an escaped slash', path({ path: '/a%2fb' }), [`Invalid ${path0}.path`]),
  ingress('an escaped slash in capitals', path({ path: '/a%2Fb' }), [`Invalid ${path0}.path`]),
  ingress('two slashes of a relative path', path({ path: 'a//b' }), [`Invalid ${path0}.path`]),
  ingress('no paths', rule({ http: { paths: [] } }), ['Required spec.rules[0].http.paths']),
  ingress('http without paths', rule({ http: {} }), ['Required spec.rules[0].http.paths']),
]

const backends = [
  ingress('no backend', backed({}), [`Invalid ${path0}.backend`]),
  ingress('both backends', backed({ service, resource: { kind: 'A', name: 'a' } }), [`Invalid ${path0}.backend`]),
  ingress('a resource', backed({ resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'a' } })),
  ingress('a resource without name and kind', backed({ resource: {} }), [
    `Required ${path0}.backend.resource.kind`,
    `Required ${path0}.backend.resource.name`,
  ]),
  ingress('a resource of a group in capitals', backed({ resource: { apiGroup: 'A', kind: 'B', name: 'c' } }), [
    `Invalid ${path0}.backend.resource.apiGroup`,
  ]),
  ingress('a resource with slashes', backed({ resource: { kind: 'A/B', name: 'a/b' } }), [
    `Invalid ${path0}.backend.resource.kind`,
    `Invalid ${path0}.backend.resource.name`,
  ]),
  ingress('a resource with percent signs and dots', backed({ resource: { kind: '..', name: 'a%b' } }), [
    `Invalid ${path0}.backend.resource.kind`,
    `Invalid ${path0}.backend.resource.name`,
  ]),
  ingress('a service without name', served({ name: '' }), [`Required ${path0}.backend.service.name`]),
  ingress('a service in capitals', served({ name: 'Web' }), [`Invalid ${path0}.backend.service.name`]),
  ingress('a service that starts with a digit', served({ name: '1web' }), [`Invalid ${path0}.backend.service.name`]),
  ingress('a service without port', served({ port: {} }), [`Required ${path0}.backend`]),
  ingress('a service of port 0', served({ port: { number: 0 } }), [`Required ${path0}.backend`]),
  ingress('a service with a negative port', served({ port: { number: -1 } }), [
    `Invalid ${path0}.backend.service.port.number`,
  ]),
  ingress('a service of port 70000', served({ port: { number: 70_000 } }), [
    `Invalid ${path0}.backend.service.port.number`,
  ]),
  ingress('a service with both ports', served({ port: { number: 80, name: 'http' } }), [`Invalid ${path0}.backend`]),
  ingress(
    'a port name in capitals',
    served({ port: { name: 'HTTP' } }),
    [`Invalid ${path0}.backend.service.port.name`],
    otherWords.firstFault,
  ),
  ingress('a port name of digits', served({ port: { name: '80' } }), [`Invalid ${path0}.backend.service.port.name`]),
  ingress(
    'a long port name with two dashes',
    served({ port: { name: 'a--bcdefghijklmnopqr' } }),
    [`Invalid ${path0}.backend.service.port.name`],
    otherWords.firstFault,
  ),
  ingress('no name and no port', served({ name: '', port: {} }), [
    `Required ${path0}.backend.service.name`,
    `Required ${path0}.backend`,
  ]),
  ingress('a default backend of nothing', spec({ defaultBackend: {} }), ['Invalid spec.defaultBackend']),
  ingress('a default backend alone', spec({ defaultBackend: backend })),
]

const specs = [
  ingress('an empty spec', spec({}), ['Invalid spec']),
  ingress('no spec', { spec: null }, ['Invalid spec']),
  ingress('empty rules', spec({ rules: [] }), ['Invalid spec']),
  ingress('an empty rule', rule({})),
  ingress('a host', rule({ host: 'web.example.com' })),
  ingress('a host that is an address', rule({ host: '10.0.0.1' }), ['Invalid spec.rules[0].host']),
  ingress('a host that is an IPv6 address', rule({ host: '2001:db8::1' }), ['Invalid spec.rules[0].host']),
  ingress('a host that is an address with leading zeros', rule({ host: '010.000.000.001' }), [
    'Invalid spec.rules[0].host',
  ]),
  ingress('a host in capitals', rule({ host: 'Web.example.com' }), ['Invalid spec.rules[0].host']),
  ingress('a host with a port', rule({ host: 'web.example.com:80' }), ['Invalid spec.rules[0].host']),
  ingress('any host of a domain', rule({ host: '*.example.com' })),
  ingress('a star within a host', rule({ host: 'web.*.example.com' }), ['Invalid spec.rules[0].host']),
  ingress('a star alone', rule({ host: '*' }), ['Invalid spec.rules[0].host']),
  ingress('two stars', rule({ host: '*.*.example.com' }), ['Invalid spec.rules[0].host']),
  ingress('a star of one label', rule({ host: '*.com' })),
  ingress('a host of 254 characters', rule({ host: `${'a.'.repeat(126)}ab` }), ['Invalid spec.rules[0].host']),
  ingress('a host with an empty label', rule({ host: 'a..b' }), ['Invalid spec.rules[0].host']),
  ingress('a class', spec({ ingressClassName: 'nginx', defaultBackend: backend })),
  ingress('a class in capitals', spec({ ingressClassName: 'Nginx', defaultBackend: backend }), [
    'Invalid spec.ingressClassName',
  ]),
  ingress('an empty class', spec({ ingressClassName: '', defaultBackend: backend }), ['Invalid spec.ingressClassName']),
  ingress(
    'a class that the annotation contradicts',
    {
      metadata: { name: 'new', annotations: { 'kubernetes.io/ingress.class': 'a' } },
      ...spec({ ingressClassName: 'b', defaultBackend: backend }),
    },
    ['Invalid annotations.kubernetes.io/ingress.class'],
  ),
  ingress('a class that the annotation repeats', {
    metadata: { name: 'new', annotations: { 'kubernetes.io/ingress.class': 'a' } },
    ...spec({ ingressClassName: 'a', defaultBackend: backend }),
  }),
  ingress('a name in capitals', { metadata: { name: 'New' } }, ['Invalid metadata.name']),
]

const secured = [
  ingress('TLS of nothing', tls({})),
  ingress('TLS of hosts', tls({ hosts: ['a.example.com', '*.example.com'], secretName: 'a' })),
  ingress('TLS of a host in capitals', tls({ hosts: ['A'] }), ['Invalid spec.tls[0].hosts[0]']),
  ingress('TLS of an empty host', tls({ hosts: [''] }), ['Invalid spec.tls[0].hosts[0]']),
  ingress('TLS of a star alone', tls({ hosts: ['*'] }), ['Invalid spec.tls[0].hosts[0]']),
  ingress('TLS of an address', tls({ hosts: ['10.0.0.1'] })),
  ingress('TLS of a secret in capitals', tls({ secretName: 'A' }), ['Invalid spec.tls[0].secretName']),
]

const update = changes(`${ingressPath}/web`)
const status = changes(`${ingressPath}/web/status`)
const balanced = (...entries: readonly object[]) => ({ status: { loadBalancer: { ingress: entries } } })
const replace = replaces(`${ingressPath}/web`, { metadata: { name: 'web' }, ...path({}) })

const updates = [
  update('another backend', { spec: { defaultBackend: { service: { name: 'other', port: { name: 'http' } } } } }),
  update('no rules any more', { spec: { rules: null } }, ['Invalid spec']),
  update('a relative path', path({ path: 'web' }), [`Invalid ${path0}.path`]),
  update('a class that the annotation contradicts', {
    metadata: { annotations: { 'kubernetes.io/ingress.class': 'a' } },
    spec: { ingressClassName: 'b' },
  }),
  replace('the object in full', {}),
  replace('another name', { metadata: { name: 'other' } }, [], { code: 400, reason: 'BadRequest' }),
  replace('another namespace', { metadata: { name: 'web', namespace: 'kube-system' } }, [], {
    code: 400,
    reason: 'BadRequest',
  }),
  replace('an old revision', { metadata: { name: 'web', resourceVersion: '1' } }, [], {
    code: 409,
    reason: 'Conflict',
  }),
  status('an address', balanced({ ip: '192.0.2.1' }, { hostname: 'lb.example.com' })),
  status('an address that is none', balanced({ ip: '192.0.2.256' }), ['Invalid status.loadBalancer.ingress[0].ip']),
  status('an address with leading zeros', balanced({ ip: '192.0.2.001' })),
  status('a host name in capitals', balanced({ hostname: 'LB' }), ['Invalid status.loadBalancer.ingress[0].hostname']),
  status('a host name that is an address', balanced({ hostname: '192.0.2.1' }), [
    'Invalid status.loadBalancer.ingress[0].hostname',
  ]),
  status('a port that is none', balanced({ ip: '192.0.2.1', ports: [{ port: 0, protocol: 'ICMP' }] })),
]

export const ingressCases: KindCases = {
  title: 'Ingresses',
  fixtures: [{ path: ingressPath, body: { metadata: { name: 'web' }, ...path({}) } }],
  cases: [...paths, ...backends, ...specs, ...secured, ...updates],
}

const classPath = `${group}/ingressclasses`
const ingressClass = creates(classPath, { metadata: { name: 'new' }, spec: { controller: 'example.com/controller' } })
const controller = (text: string | null) => spec({ controller: text })
const parameters = (change: object) =>
  spec({ controller: 'example.com/controller', parameters: { kind: 'Parameters', name: 'p', ...change } })
const updateClass = changes(`${classPath}/nginx`)
const replaceClass = replaces(`${classPath}/nginx`, {
  metadata: { name: 'nginx' },
  spec: { controller: 'example.com/nginx' },
})
const namespaced = { scope: 'Namespace', namespace: 'default' }

export const ingressClassCases: KindCases = {
  title: 'IngressClasses',
  fixtures: [{ path: classPath, body: { metadata: { name: 'nginx' }, spec: { controller: 'example.com/nginx' } } }],
  cases: [
    ingressClass('nothing special', {}),
    ingressClass('a namespace, which it loses', { metadata: { name: 'new', namespace: 'default' } }),
    ingressClass('a name in capitals', { metadata: { name: 'Nginx' } }, ['Invalid metadata.name']),
    ingressClass('no controller', controller(null), ['Required spec.controller']),
    ingressClass('no spec', { spec: null }, ['Required spec.controller']),
    ingressClass('a controller without path', controller('example.com'), ['Invalid spec.controller']),
    ingressClass('a controller with an empty path', controller('example.com/'), ['Invalid spec.controller']),
    ingressClass('a controller without domain', controller('/web'), ['Invalid spec.controller']),
    ingressClass('a controller of a domain in capitals', controller('Example.com/web'), ['Invalid spec.controller']),
    ingressClass('a controller with a blank', controller('example.com/a b'), ['Invalid spec.controller']),
    ingressClass('a controller with two slashes', controller('example.com/a/b')),
    ingressClass('a controller of 251 characters', controller(`example.com/${'a'.repeat(239)}`), [
      'TooLong spec.controller',
    ]),
    ingressClass('a controller of 251 characters without domain', controller('a'.repeat(251)), [
      'TooLong spec.controller',
      'Invalid spec.controller',
    ]),
    ingressClass('parameters', parameters({ apiGroup: 'example.com' })),
    ingressClass('parameters of nothing', parameters({ kind: '', name: '' }), [
      'Required spec.parameters.kind',
      'Required spec.parameters.name',
    ]),
    ingressClass('parameters of a group in capitals', parameters({ apiGroup: 'Example' }), [
      'Invalid spec.parameters.apiGroup',
    ]),
    ingressClass('parameters of an empty group', parameters({ apiGroup: '' }), ['Invalid spec.parameters.apiGroup']),
    ingressClass('parameters with slashes', parameters({ kind: 'a/b', name: 'c/d' }), [
      'Invalid spec.parameters.kind',
      'Invalid spec.parameters.name',
    ]),
    ingressClass('parameters of a scope that is none', parameters({ scope: 'Galaxy' }), [
      'NotSupported spec.parameters.scope',
    ]),
    ingressClass('parameters of an empty scope', parameters({ scope: '' }), [], emptyIsAbsent),
    ingressClass('parameters in a namespace', parameters(namespaced)),
    ingressClass('parameters in no namespace', parameters({ scope: 'Namespace' }), [
      'Required spec.parameters.namespace',
    ]),
    ingressClass('parameters in an empty namespace', parameters({ ...namespaced, namespace: '' }), [
      'Invalid spec.parameters.namespace',
    ]),
    ingressClass('parameters in a namespace in capitals', parameters({ ...namespaced, namespace: 'A' }), [
      'Invalid spec.parameters.namespace',
    ]),
    ingressClass('parameters of the cluster in a namespace', parameters({ namespace: 'default' }), [
      'Forbidden spec.parameters.namespace',
    ]),
    ingressClass('parameters of the cluster in an empty namespace', parameters({ namespace: '' }), [
      'Forbidden spec.parameters.namespace',
    ]),
    replaceClass('the object without its revision', {}),
    replaceClass('another controller', { spec: { controller: 'example.com/other' } }, ['Invalid spec.controller']),
    updateClass('parameters', { spec: { parameters: { kind: 'A', name: 'a', scope: 'Cluster' } } }),
    updateClass('parameters without scope', { spec: { parameters: { kind: 'A', name: 'a' } } }),
    updateClass('another controller', { spec: { controller: 'example.com/other' } }, ['Invalid spec.controller']),
    updateClass('no controller', { spec: { controller: null } }, [
      'Invalid spec.controller',
      'Required spec.controller',
    ]),
  ],
}
