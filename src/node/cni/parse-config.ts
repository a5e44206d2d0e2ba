import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/api-object.ts'
import { CniError } from './errors.ts'
import type { NetworkConfig, PluginConfig } from './types.ts'
import { knownVersions } from './versions.ts'

/** Allowed names of networks. Cache files carry these names, so a name can never contain a path. */
const networkName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'expected letters, digits, "_", "." and "-"')
const pluginType = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'expected the file name of a plugin, without a path')
const version = z.string().regex(/^\d+\.\d+\.\d+$/, 'expected a version such as 1.0.0')
/** A boolean, also as text, because the templates of some tools quote it. */
const flag = z.union([z.boolean(), z.stringbool()], 'expected true or false').default(false)

const pluginSchema = z.looseObject({
  type: pluginType,
  capabilities: z.record(z.string(), z.boolean('expected true or false')).optional(),
})

const listSchema = z.looseObject({
  name: networkName,
  cniVersion: version,
  cniVersions: z.array(version).default([]),
  disableCheck: flag,
  disableGC: flag,
  loadOnlyInlinedPlugins: flag,
  plugins: z.array(pluginSchema).default([]),
})

/** A list whose folder `net.d/<name>/` has not been read yet. */
export interface ParsedList {
  readonly config: NetworkConfig
  readonly takesFolder: boolean
}

/**
 * Parses a network file: a `.conf` file holds one plugin, a `.conflist` a list, a `.json` either. Throws CniError `invalid-config` that names the field.
 */
export function parseNetworkFile(file: string, text: string): ParsedList {
  const json = parseJson(file, text)
  const isList = file.endsWith('.conflist') || (file.endsWith('.json') && json['plugins'] !== undefined)
  return isList ? parseList(file, json) : parseSingle(file, json)
}

/** Parses one plugin of `net.d/<name>/`. */
export function parsePluginFile(file: string, text: string): JsonObject {
  const json = parseJson(file, text)
  check(file, pluginSchema, json)
  return json
}

/** Appends plugins to the list's own. Throws CniError if the list then has none. */
export function withPlugins({ config }: ParsedList, more: readonly JsonObject[]): NetworkConfig {
  const plugins = [...config.plugins, ...more.map(readPlugin)]
  if (plugins.length > 0)
    return { ...config, plugins, json: { ...config.json, plugins: [...ownPlugins(config.json), ...more] } }
  throw new CniError('invalid-config', `${config.file}: the network ${config.name} has no plugin`, {
    object: config.file,
    remedy: 'list its plugins under "plugins", or put their files in the folder of the network\'s name beside it',
  })
}

/** Parses the configuration of a network in the result cache. */
export function parseCachedNetwork(file: string, text: string): NetworkConfig {
  const json = parseJson(file, text)
  return withPlugins(json['plugins'] === undefined ? parseSingle(file, json) : parseList(file, json), [])
}

function parseList(file: string, json: JsonObject): ParsedList {
  const list = check(file, listSchema, json)
  if (list.loadOnlyInlinedPlugins && list.plugins.length === 0) {
    throw new CniError('invalid-config', `${file}: loadOnlyInlinedPlugins is set and there is no plugin`, {
      object: file,
    })
  }
  const config = {
    name: list.name,
    file,
    versions: ofKnownVersions(file, [list.cniVersion, ...list.cniVersions]),
    disableCheck: list.disableCheck,
    disableGc: list.disableGC,
    plugins: ownPlugins(json).map(readPlugin),
    json,
  }
  return { config, takesFolder: !list.loadOnlyInlinedPlugins }
}

/** Turns a single plugin into a list of one, because specification 1.0.0 has only lists. */
function parseSingle(file: string, json: JsonObject): ParsedList {
  check(file, pluginSchema, json)
  const { name, cniVersion, cniVersions, disableCheck, ...plugin } = json
  const list = {
    name,
    cniVersion,
    ...(cniVersions && { cniVersions }),
    ...(disableCheck && { disableCheck }),
    plugins: [plugin],
  }
  return { ...parseList(file, list), takesFolder: false }
}

function ofKnownVersions(file: string, declared: readonly string[]): readonly string[] {
  const versions = knownVersions.filter((known) => declared.includes(known))
  if (versions.length > 0) return versions
  throw new CniError(
    'invalid-config',
    `${file}: version ${declared.join(', ')} is not one of ${knownVersions.join(', ')}`,
    {
      object: file,
      remedy: 'set cniVersion to one that its plugins speak',
    },
  )
}

function ownPlugins(json: JsonObject): readonly JsonObject[] {
  const plugins = json['plugins']
  return Array.isArray(plugins) ? plugins.filter(isObject) : []
}

function readPlugin(json: JsonObject): PluginConfig {
  const { capabilities = {}, ...fields } = json
  const declared = isObject(capabilities) ? Object.keys(capabilities).filter((name) => capabilities[name] === true) : []
  return { type: String(json['type']), capabilities: declared, fields }
}

function check<S extends z.ZodType>(file: string, schema: S, json: JsonObject): z.output<S> {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const field = issue?.path.length ? issue.path.join('.') : 'the file'
  throw new CniError('invalid-config', `${file}: ${field}: ${issue?.message ?? 'invalid'}`, { object: file })
}

function parseJson(file: string, text: string): JsonObject {
  let json: Json
  try {
    json = JSON.parse(text)
  } catch (cause) {
    const what = text.trim() === '' ? 'is empty' : 'is not JSON'
    throw new CniError('invalid-config', `${file} ${what}`, { object: file, cause })
  }
  if (isObject(json)) return json
  throw new CniError('invalid-config', `${file}: expected a JSON object`, { object: file })
}
