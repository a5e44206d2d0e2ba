// The thread that reads large YAML bodies: what takes long there keeps no other request waiting.
import { parentPort } from 'node:worker_threads'
import { StatusError, type StatusReason } from '../status.ts'
import { readYaml, type YamlReading } from './yaml-text.ts'

/** A reading, or why the request is refused. */
export type YamlReply = { readonly reading: YamlReading } | { readonly code: StatusReason; readonly message: string }

parentPort?.on('message', (text: string) => parentPort?.postMessage(reply(text)))

function reply(text: string): YamlReply {
  try {
    return { reading: readYaml(text) }
  } catch (thrown) {
    if (thrown instanceof StatusError) return { code: thrown.code, message: thrown.message }
    throw thrown
  }
}
