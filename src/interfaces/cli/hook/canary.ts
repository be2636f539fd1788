/** Sessions that `install --check` invents. Hooks treat them like others, but their note needs no transcript and no import. */
import { randomUUID } from 'node:crypto'

const PREFIX = 'context-ledger-check-'

export const createCanaryId = (): string => `${PREFIX}${randomUUID()}`

export const isCanary = (sessionId: string): boolean => sessionId.startsWith(PREFIX)

/** The text that a canary brings back, with the reason if the ledger cannot be opened. */
export const canaryNote = (sessionId: string, problem: string | undefined): string =>
  JSON.stringify({ canary: sessionId, ...(problem === undefined ? {} : { problem }) })
