import { type LogOptions, type LogRequest, PodFolders, readLog } from '../../node/pods/index.ts'
import { podsFolder } from '../composition/compose-pods.ts'
import type { Options } from '../context.ts'

/** Reads the output of a container of this node from its files or its engine, without the agent. Throws PodError `no-logs`, EngineError. */
export async function* readPodLogs(
  options: Options['values'],
  request: LogRequest,
  logOptions: LogOptions,
): AsyncGenerator<string> {
  const log = readLog(new PodFolders(podsFolder(options)), request, logOptions)
  const decoder = new TextDecoder()
  for await (const chunk of log) yield decoder.decode(chunk, { stream: true })
}
