import type { IncomingMessage } from 'node:http'
import { nextTurn } from '../../loop/time-slice.ts'
import type { Json } from '../../model/api-object.ts'
import { protobufType } from '../negotiate/accept.ts'
import type { Patch } from '../request/request.ts'
import { badRequest, unsupportedMediaType } from '../status.ts'
import { type DecodedBody, decodeJson } from './json-text.ts'
import { parseProtobufBody } from './protobuf.ts'
import { bodyOf } from './receive-body.ts'
import { decodeYaml, type YamlReader } from './yaml-body.ts'

type Decoder = (bytes: Uint8Array, readYaml: YamlReader) => DecodedBody | Promise<DecodedBody>

/** The object decoders by media type. */
const decoders: Readonly<Record<string, Decoder>> = {
  'application/json': decodeJson,
  'application/yaml': decodeYaml,
  [protobufType]: decodeProtobuf,
}

const patchTypes: Readonly<Record<string, PatchBody['type']>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}

/** The body of a patch: a patch of the stored object, or the configuration of a server-side apply. */
export type PatchBody = Patch | (DecodedBody & { readonly type: 'apply' })

/** The size of a long body, which may take a good part of a second: one such request is decoded per turn of the event loop. */
const longBodyBytes = 64 * 1024

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const bytes = bodyOf(request)
  if (bytes.length > longBodyBytes) await nextTurn()
  return bytes
}

/** Reads an object in the format of Content-Type (JSON where it is absent); throws a 415 for another format. */
export async function readObject(request: IncomingMessage, readYaml: YamlReader): Promise<DecodedBody> {
  const decode = decoderOf(request)
  const bytes = await readBody(request)
  if (bytes.length === 0) throw badRequest('the body of the request is empty, expected an object')
  return afterTurn(bytes, await decode(bytes, readYaml))
}

/** Decodes a long body in a later turn than the one that received it. */
async function afterTurn<Read>(bytes: Uint8Array, read: Read): Promise<Read> {
  if (bytes.length > longBodyBytes) await nextTurn()
  return read
}

/** Reads an object; returns undefined for an empty body. */
export async function readOptionalObject(request: IncomingMessage, readYaml: YamlReader): Promise<Json | undefined> {
  const bytes = await readBody(request)
  return bytes.length === 0 ? undefined : (await decoderOf(request)(bytes, readYaml)).value
}

/** Reads a patch. Custom resources accept no strategic merge patch: clients do not know the merge keys of their lists. */
export async function readPatch(request: IncomingMessage, isCustom: boolean, readYaml: YamlReader): Promise<PatchBody> {
  const type = patchTypes[mediaTypeOf(request)]
  const isTaken = (other: string) => !(isCustom && patchTypes[other] === 'strategic')
  if (type === undefined || (isCustom && type === 'strategic')) {
    throw unsupportedMediaType(Object.keys(patchTypes).filter(isTaken))
  }
  const bytes = await readBody(request)
  const read = await (type === 'apply' ? decodeYaml(bytes, readYaml) : decodeJson(bytes))
  return { type, ...(await afterTurn(bytes, read)) }
}

/** Decodes protobuf, in which a message cannot hold a duplicate field. */
function decodeProtobuf(bytes: Uint8Array): DecodedBody {
  return { value: parseProtobufBody(bytes), problems: { findDuplicates: () => [] } }
}

function decoderOf(request: IncomingMessage): Decoder {
  const decode = decoders[mediaTypeOf(request) || 'application/json']
  if (decode === undefined) throw unsupportedMediaType(Object.keys(decoders))
  return decode
}

function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
