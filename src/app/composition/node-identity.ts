import { hostname } from 'node:os'

/** Returns the name of this node in the API: the option's value, else the host name in lower case. */
export function findNodeName(wanted: string | undefined): string {
  return wanted ?? hostname().toLowerCase()
}
