import { type Fields, type Kind, type ObjectCase, objectCases } from './object-case.ts'
import { otherWords } from './write-case.ts'

const main = { name: 'main', image: 'main:1', resources: { requests: { cpu: '1', memory: '1Gi' } } }
const sidecar = { name: 'side', image: 'side:1', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } }
const first = { name: 'first', image: 'first:1', resources: { requests: { cpu: '1' } } }
const pod: Kind = {
  collection: '/api/v1/namespaces/default/pods',
  valid: {
    metadata: { name: 'new' },
    spec: { containers: [main], initContainers: [first, sidecar], volumes: [{ name: 'v', emptyDir: {} }] },
  },
}

/** A write of a part of a Pod by its subresource. */
function part(subresource: NonNullable<ObjectCase['subresource']>) {
  return (title: string, patch: Fields, ...causes: readonly string[]): ObjectCase => ({
    title,
    object: {},
    patch,
    subresource,
    causes,
  })
}

const join = part('ephemeralcontainers')
const debug = { name: 'debug', image: 'debug:1' }
const added = (...containers: readonly object[]) => ({ spec: { ephemeralContainers: containers } })
const at = 'spec.ephemeralContainers[0]'
const withField = (fields: object) => added({ ...debug, ...fields })
const forbidden = (field: string, value: unknown) =>
  join(`${field}, which only others have`, withField({ [field]: value }), `Forbidden ${at}.${field}`)

export const ephemeralContainerCases = objectCases('containers that join a Pod', pod, [
  join('one', added(debug)),
  join('one that shares the processes of another', withField({ targetContainerName: 'main' })),
  join('one with a terminal', withField({ stdin: true, tty: true, command: ['sh'] })),
  join('other changes beside it, which are left out', { metadata: { labels: { a: 'b' } }, ...added(debug) }),
  join('the name of a container', withField({ name: 'main' }), `Duplicate ${at}.name`),
  join('one name twice', added(debug, debug), 'Duplicate spec.ephemeralContainers[1].name'),
  join('no name', withField({ name: '' }), `Required ${at}.name`),
  join('a target that is none', withField({ targetContainerName: 'x' }), `NotFound ${at}.targetContainerName`),
  forbidden('ports', [{ containerPort: 80 }]),
  forbidden('resources', { requests: { cpu: '1' } }),
  forbidden('livenessProbe', { exec: { command: ['true'] } }),
  forbidden('lifecycle', { preStop: { exec: { command: ['true'] } } }),
  join('a volume', withField({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })),
  join(
    'a part of a volume',
    withField({ volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }] }),
    `Forbidden ${at}.volumeMounts[0].subPath`,
  ),
])

const change = part('resize')
const sized = (resources: object) => ({ spec: { containers: [{ ...main, resources }] } })
const side = (resources: object) => ({ spec: { initContainers: [first, { ...sidecar, resources }] } })
const inWords = (each: ObjectCase): ObjectCase => ({ ...each, ...otherWords.goFields })

export const resizeCases = objectCases('Pods that change their size', pod, [
  change('more CPU', sized({ requests: { cpu: '2', memory: '1Gi' } })),
  change('a limit', sized({ requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '2Gi' } })),
  change('the same in other words', sized({ requests: { cpu: '1000m', memory: '1024Mi' } })),
  change('more CPU of a sidecar', side({ requests: { cpu: '2' } })),
  change('another image beside it, which is left out', {
    spec: { containers: [{ ...main, image: 'other:1', resources: { requests: { cpu: '2', memory: '1Gi' } } }] },
  }),
  change('no request any more', sized({ requests: { cpu: '1' } }), 'Forbidden spec.containers[0].resources.requests'),
  inWords(
    change(
      'another resource',
      sized({ requests: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' } }),
      'Forbidden spec',
    ),
  ),
  change(
    'a limit below the request',
    sized({ requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '500m' } }),
    'Invalid spec.containers[0].resources.requests',
  ),
  change(
    'another class of service',
    { spec: { containers: [{ ...main, resources: {} }], initContainers: [first, sidecar] } },
    'Forbidden spec.containers[0].resources.requests',
  ),
  change(
    'the CPU of an init container that ends',
    { spec: { initContainers: [{ ...first, resources: { requests: { cpu: '2' } } }, sidecar] } },
    'Forbidden spec',
  ),
  change(
    'one container more',
    { spec: { containers: [main, { ...main, name: 'more' }] } },
    'Forbidden spec.containers',
  ),
  change('another name', { spec: { containers: [{ ...main, name: 'other' }] } }, 'Forbidden spec.containers[0].name'),
])
