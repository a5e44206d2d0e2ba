/** Exit codes of `platnet`. `unhealthy` also means drift between wanted and actual rules. */
export const exitCodes = { ok: 0, failure: 1, usage: 2, unhealthy: 3, noPrivilege: 4 } as const
