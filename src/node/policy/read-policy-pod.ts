import { z } from 'zod'
import { type Ip, ipFamily } from '../../model/ip.ts'
import type { NamedPort, PolicyPod } from '../../model/network-policy.ts'
import { type Field, type FieldReader, fields, type Parsed } from '../state/index.ts'
import { readLabels } from './read-labels.ts'

const text: Field<string> = { schema: z.string(), expected: 'a text' }

/** The phases of a pod whose containers have all ended for good; its addresses may be another pod's already. */
const finishedPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed'])

/**
 * Reads a Pod of the API. No value and no problem: a finished pod, or one of the host's network, which counts as its node. A
 * terminating pod is one until it has finished or is gone. An address or port that cannot be used is left out and is a problem.
 *
 * @param nodeName the node whose pods are local
 */
export function readPolicyPod(json: unknown, nodeName: string): Parsed<PolicyPod> {
  return fields.parseObject('Pod', json, (reader, object, { key, namespace }) => {
    const metadata = reader.required(fields.record, object['metadata'], 'metadata') ?? {}
    const spec = reader.required(fields.record, object['spec'], 'spec')
    const status = reader.optional(fields.record, object['status'], 'status') ?? {}
    const labels = readLabels(reader, metadata['labels'])
    if (spec === undefined || labels === undefined) return undefined
    if (spec['hostNetwork'] === true || finishedPhases.has(status['phase'])) return undefined
    return {
      key,
      namespace,
      labels,
      ips: readIps(reader, status),
      isLocal: spec['nodeName'] === nodeName,
      ports: readContainerPorts(reader, spec).filter(({ name }) => name !== ''),
    }
  })
}

/**
 * Reads the ports of all containers and of the init containers that go on running beside them, those without a name with the name
 * `""`; each name, protocol and number once.
 */
function readContainerPorts(reader: FieldReader, spec: fields.JsonRecord): readonly NamedPort[] {
  const ofList = (list: 'containers' | 'initContainers') =>
    fields.readEach(reader, spec[list], `spec.${list}`, (container, path) =>
      list === 'containers' || container['restartPolicy'] === 'Always'
        ? fields.readEach(reader, container['ports'], `${path}.ports`, (port, at) => readPort(reader, port, at))
        : undefined,
    )
  const ports = [...ofList('containers'), ...ofList('initContainers')].flat()
  const byText = new Map(ports.map((port) => [`${port.name}/${port.protocol}/${port.port}`, port]))
  return [...byText.values()]
}

function readPort(reader: FieldReader, json: fields.JsonRecord, path: string): NamedPort | undefined {
  const name = reader.optional(text, json['name'], `${path}.name`) ?? ''
  const protocol = fields.readProtocol(reader, json, path)
  const port = reader.required(fields.portNumber, json['containerPort'], `${path}.containerPort`)
  return protocol === undefined || port === undefined ? undefined : { name, protocol, port }
}

/** The list where there is one, else the single field; of each family the first. */
function readIps(reader: FieldReader, status: fields.JsonRecord): readonly Ip[] {
  const listed = fields.readEach(reader, status['podIPs'], 'status.podIPs', (element, path) =>
    reader.required(fields.workloadAddress, element['ip'], `${path}.ip`),
  )
  const { podIP } = status
  const single = podIP === '' ? undefined : reader.optional(fields.workloadAddress, podIP, 'status.podIP')
  const all = listed.length > 0 || single === undefined ? listed : [single]
  return all.filter((ip, index) => all.findIndex((other) => ipFamily(other) === ipFamily(ip)) === index)
}
