import { findPodLogs, followLog, type LogRequest, PodFolders } from '../node/pods/index.ts'
import { podsFolder } from './compose-pods.ts'
import type { Options } from './context.ts'

/** What a container of this node wrote, from the files; no agent is asked. Throws PodError `no-logs`. */
export async function* readPodLogs(
  options: Options['values'],
  request: LogRequest,
  { follow }: { readonly follow: boolean },
): AsyncGenerator<string> {
  const source = findPodLogs(new PodFolders(podsFolder(options)), request)
  const decoder = new TextDecoder()
  for await (const chunk of followLog(source, { follow })) yield decoder.decode(chunk, { stream: true })
}
