/** Status codes that are counted each by itself, the most frequent first: haproxy looks for them in this order. */
const singleCodes = [
  200, 304, 302, 301, 204, 201, 206, 404, 101, 303, 307, 308, 400, 401, 403, 405, 408, 409, 410, 413, 415, 422, 429,
  500, 501, 502, 503, 504, 202,
]

/** The counters of an Ingress in their order: single codes, then the rest of each class. */
export const countedCodes: readonly string[] = [...singleCodes.map(String), '1xx', '2xx', '3xx', '4xx', '5xx']

/** Writes the conditions under which an answer belongs to each counter; the first that holds counts. */
export function codeConditions(): readonly string[] {
  const ranges = [1, 2, 3, 4, 5].map((first) => `{ status ${first}00:${first}99 }`)
  return [...singleCodes.map((code) => `{ status ${code} }`), ...ranges]
}
