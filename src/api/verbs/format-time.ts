/** RFC 3339 in UTC with whole seconds, as every timestamp of the API. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}
