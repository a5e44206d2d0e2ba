import type { Json, JsonObject } from '../../../model/api-object.ts'
import { isJsonObject, listAt, objectAt, textAt } from '../../document.ts'
import type { Schema } from '../../schema/schema.ts'
import type { SpecOwner } from './pod-spec-rules.ts'

const fileMode: Schema = { default: 0o644 }
const httpGet: Schema = { properties: { path: { default: '/' }, scheme: { default: 'HTTP' } } }
const probe: Schema = {
  properties: {
    httpGet,
    grpc: { properties: { service: { default: '' } } },
  },
}
const hook: Schema = { properties: { httpGet } }
const podFields: Schema = {
  properties: {
    fieldRef: { properties: { apiVersion: { default: 'v1' } } },
    resourceFieldRef: { properties: { divisor: { default: '0' } } },
  },
}
const podFiles: Schema = { items: podFields }

const container: Schema = {
  properties: {
    resources: { default: {} },
    terminationMessagePath: { default: '/dev/termination-log' },
    terminationMessagePolicy: { default: 'File' },
    ports: { items: { properties: { protocol: { default: 'TCP' } } } },
    env: { items: { properties: { valueFrom: podFields } } },
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    lifecycle: { properties: { postStart: hook, preStop: hook } },
  },
}

const projected: Schema = {
  properties: {
    defaultMode: fileMode,
    sources: {
      items: {
        properties: {
          serviceAccountToken: { properties: { expirationSeconds: { default: 3600 } } },
          downwardAPI: { properties: { items: podFiles } },
        },
      },
    },
  },
}

/** The defaults of the types that both a Pod and a PersistentVolume can have. */
export const volumeSourceDefaults: Readonly<Record<string, Schema>> = {
  hostPath: { properties: { type: { default: '' } } },
  iscsi: { properties: { iscsiInterface: { default: 'default' } } },
  rbd: {
    properties: { pool: { default: 'rbd' }, user: { default: 'admin' }, keyring: { default: '/etc/ceph/keyring' } },
  },
  azureDisk: {
    properties: {
      cachingMode: { default: 'ReadWrite' },
      fsType: { default: 'ext4' },
      readOnly: { default: false },
      kind: { default: 'Shared' },
    },
  },
  scaleIO: { properties: { storageMode: { default: 'ThinProvisioned' }, fsType: { default: 'xfs' } } },
}

const volume: Schema = {
  properties: {
    secret: { properties: { defaultMode: fileMode } },
    configMap: { properties: { defaultMode: fileMode } },
    downwardAPI: { properties: { defaultMode: fileMode, items: podFiles } },
    projected,
    ...volumeSourceDefaults,
    ephemeral: {
      properties: {
        volumeClaimTemplate: { properties: { spec: { properties: { volumeMode: { default: 'Filesystem' } } } } },
      },
    },
  },
}

/** The fixed defaults of a Pod's spec and of a template's (`pkg/apis/core/v1/defaults.go` names them). */
export const podSpecDefaults: Schema = {
  default: {},
  properties: {
    restartPolicy: { default: 'Always' },
    dnsPolicy: { default: 'ClusterFirst' },
    schedulerName: { default: 'default-scheduler' },
    terminationGracePeriodSeconds: { default: 30 },
    securityContext: { default: {} },
    containers: { items: container },
    initContainers: { items: container },
    ephemeralContainers: { items: container },
    volumes: { items: volume },
  },
}

/** Adds the defaults that follow from other fields; a Pod gets more than a template, whose Pods are still to be made. */
export function completePodSpec(spec: Json | undefined, owner: SpecOwner): JsonObject {
  const given = objectAt(spec)
  const complete = (item: Json) => completeContainer(item, owner, given['hostNetwork'] === true)
  const account = textAt(given, 'serviceAccountName') || textAt(given, 'serviceAccount')
  return {
    ...given,
    ...(account === '' ? {} : { serviceAccountName: account, serviceAccount: account }),
    ...(owner === 'pod' && given['enableServiceLinks'] === undefined ? { enableServiceLinks: true } : {}),
    ...completeLists(given, ['containers', 'initContainers', 'ephemeralContainers'], complete),
    ...completeLists(given, ['volumes'], completeVolume),
  }
}

/** Returns a Pod template with the defaults of its spec that follow from other fields. */
export function completeTemplate(template: Json | undefined): JsonObject {
  const given = objectAt(template)
  return { ...given, spec: completePodSpec(given['spec'], 'template') }
}

function completeLists(spec: JsonObject, names: readonly string[], complete: (item: Json) => Json): JsonObject {
  const present = names.filter((name) => listAt(spec, name).length > 0)
  return Object.fromEntries(present.map((name) => [name, listAt(spec, name).map(complete)]))
}

function completeContainer(container: Json, owner: SpecOwner, isOnHostNetwork: boolean): Json {
  if (!isJsonObject(container)) return container
  return {
    ...container,
    imagePullPolicy: textAt(container, 'imagePullPolicy') || pullPolicyOf(textAt(container, 'image')),
    ...completeProbes(container),
    ...(owner === 'pod' ? requestsFromLimits(container) : {}),
    ...(owner === 'pod' && isOnHostNetwork ? hostPorts(container) : {}),
  }
}

const probes = ['livenessProbe', 'readinessProbe', 'startupProbe']
const probeNumbers = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }

/** Returns a container with the defaults of its probes; a number that is 0 counts as absent. */
function completeProbes(container: JsonObject): JsonObject {
  const present = probes.filter((name) => isJsonObject(container[name]))
  return Object.fromEntries(present.map((name) => [name, completeProbe(objectAt(container, name))]))
}

function completeProbe(probe: JsonObject): JsonObject {
  const numbers = Object.entries(probeNumbers).map(([name, standard]) => [name, probe[name] || standard])
  return { ...probe, ...Object.fromEntries(numbers) }
}

/** Returns the default pull policy: Always for the newest image, IfNotPresent for a fixed tag or digest. */
function pullPolicyOf(image: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1)
  const isNewest = name !== '' && !name.includes('@') && (!name.includes(':') || name.endsWith(':latest'))
  return isNewest ? 'Always' : 'IfNotPresent'
}

function requestsFromLimits(container: JsonObject): JsonObject {
  const limits = objectAt(container, 'resources', 'limits')
  if (Object.keys(limits).length === 0) return {}
  const requests = { ...limits, ...objectAt(container, 'resources', 'requests') }
  return { resources: { ...objectAt(container, 'resources'), requests } }
}

function hostPorts(container: JsonObject): JsonObject {
  const ports = listAt(container, 'ports')
  if (ports.length === 0) return {}
  const complete = (port: Json) =>
    isJsonObject(port) && !port['hostPort'] ? { ...port, hostPort: port['containerPort'] ?? 0 } : port
  return { ports: ports.map(complete) }
}

/** Returns a volume with its defaults; a volume that has only a name becomes an `emptyDir`. */
function completeVolume(volume: Json): Json {
  if (!isJsonObject(volume)) return volume
  const isPlain = Object.entries(volume).every(([field, value]) => field === 'name' || value === null)
  if (isPlain) return { ...volume, emptyDir: {} }
  const image = objectAt(volume, 'image')
  if (textAt(image, 'reference') === '' || textAt(image, 'pullPolicy') !== '') return volume
  return { ...volume, image: { ...image, pullPolicy: pullPolicyOf(textAt(image, 'reference')) } }
}
