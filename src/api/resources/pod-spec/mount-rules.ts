import type { Json } from '../../../model/api-object.ts'
import { isJsonObject, listAt, objectAt, textAt } from '../../document.ts'
import { type Check, fields, oneOf, required, text } from '../../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notFoundField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { descendingPath, withoutBacksteps } from './path-rules.ts'

/** The valid volumes of a Pod, by name. */
export type Volumes = ReadonlyMap<string, Json>

/** Checks `volumeMounts` and `volumeDevices` of a container against the Pod's volumes and against each other. */
export function checkMounts(container: Json, path: string, volumes: Volumes): readonly FieldError[] {
  const [mounts, devices] = [listAt(container, 'volumeMounts'), listAt(container, 'volumeDevices')]
  const isPrivileged = textAt(container, 'securityContext', 'privileged') === 'true'
  return [
    ...checkMountList(mounts, devices, `${path}.volumeMounts`, { volumes, isPrivileged }),
    ...checkDeviceList(devices, mounts, `${path}.volumeDevices`, volumes),
  ]
}

interface MountFacts {
  readonly volumes: Volumes
  readonly isPrivileged: boolean
}

/** Reports the errors of a mount that Kubernetes reports at the list. */
const atTheList: Check = fields({
  subPath: text(descendingPath),
  subPathExpr: text(descendingPath),
  mountPropagation: oneOf('Bidirectional', 'HostToContainer', 'None'),
})
const mountNeeds = required('name', 'mountPath')
const deviceNeeds = required('name', 'devicePath')

function checkMountList(
  mounts: readonly Json[],
  devices: readonly Json[],
  path: string,
  facts: MountFacts,
): readonly FieldError[] {
  const paths = new Set<string>()
  return mounts.flatMap((mount, index) => {
    const [at, name, mountPath] = [`${path}[${index}]`, textAt(mount, 'name'), textAt(mount, 'mountPath')]
    const isRepeated = paths.has(mountPath) || !paths.add(mountPath)
    return [
      ...mountNeeds(mount, at),
      ...(facts.volumes.has(name) ? [] : [notFoundField(`${at}.name`, name)]),
      ...(isRepeated ? [invalidField(`${at}.mountPath`, mountPath, 'must be unique')] : []),
      ...overlaps(devices, 'devicePath', name, mountPath, at, 'mountPath', 'volumeDevices'),
      ...atTheList(mount, path),
      ...checkMountOptions(mount, at, path, facts),
    ]
  })
}

function overlaps(
  others: readonly Json[],
  otherField: string,
  name: string,
  place: string,
  at: string,
  field: string,
  list: string,
): readonly FieldError[] {
  const isNameTaken = others.some((other) => textAt(other, 'name') === name)
  const isPlaceTaken = others.some((other) => textAt(other, otherField) === place)
  return [
    ...(isNameTaken ? [invalidField(`${at}.name`, name, `must not already exist in ${list}`)] : []),
    ...(isPlaceTaken ? [invalidField(`${at}.${field}`, place, `must not already exist as a path in ${list}`)] : []),
  ]
}

function checkMountOptions(mount: Json, at: string, path: string, { isPrivileged }: MountFacts): readonly FieldError[] {
  const [expression, propagation] = [textAt(mount, 'subPathExpr'), textAt(mount, 'mountPropagation')]
  const isDouble = expression !== '' && textAt(mount, 'subPath') !== ''
  const needsPrivilege = propagation === 'Bidirectional' && !isPrivileged
  return [
    ...(isDouble
      ? [invalidField(`${at}.subPathExpr`, expression, 'subPathExpr and subPath are mutually exclusive')]
      : []),
    ...(needsPrivilege
      ? [
          forbiddenField(
            `${path}.mountPropagation`,
            'Bidirectional mount propagation is available only to privileged containers',
          ),
        ]
      : []),
    ...checkRecursiveReadOnly(mount, `${path}.recursiveReadOnly`),
  ]
}

const recursive = ['Disabled', 'Enabled', 'IfPossible']

function checkRecursiveReadOnly(mount: Json, path: string): readonly FieldError[] {
  const mode = textAt(mount, 'recursiveReadOnly')
  if (mode === '' || mode === 'Disabled') return []
  if (!recursive.includes(mode)) return [unsupportedField(path, mode, recursive)]
  const propagation = textAt(mount, 'mountPropagation')
  const why = 'may only be specified when'
  return [
    ...(textAt(mount, 'readOnly') === 'true' ? [] : [forbiddenField(path, `${why} readOnly is true`)]),
    ...(propagation === '' || propagation === 'None'
      ? []
      : [forbiddenField(path, `${why} mountPropagation is None or not specified`)]),
  ]
}

function checkDeviceList(
  devices: readonly Json[],
  mounts: readonly Json[],
  path: string,
  volumes: Volumes,
): readonly FieldError[] {
  const [names, paths] = [new Set<string>(), new Set<string>()]
  return devices.flatMap((device, index) => {
    const [at, name, devicePath] = [`${path}[${index}]`, textAt(device, 'name'), textAt(device, 'devicePath')]
    const isNameRepeated = name !== '' && (names.has(name) || !names.add(name))
    const isPathRepeated = paths.has(devicePath) || !paths.add(devicePath)
    return [
      ...deviceNeeds(device, at),
      ...(isNameRepeated ? [invalidField(`${at}.name`, name, 'must be unique')] : []),
      ...checkBlockVolume(name, volumes, `${at}.name`),
      ...(isPathRepeated ? [invalidField(`${at}.devicePath`, devicePath, 'must be unique')] : []),
      ...(withoutBacksteps(devicePath) === undefined
        ? []
        : [invalidField(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')")]),
      ...overlaps(mounts, 'mountPath', name, devicePath, at, 'devicePath', 'volumeMounts'),
    ]
  })
}

function checkBlockVolume(name: string, volumes: Volumes, path: string): readonly FieldError[] {
  const volume = volumes.get(name)
  if (volume === undefined) return [notFoundField(path, name)]
  if (isJsonObject(objectAt(volume)['persistentVolumeClaim']) || isJsonObject(objectAt(volume)['ephemeral'])) return []
  const why = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
  return [invalidField(path, name, why)]
}
