/** Replaces `template.ts` of the adapter in tests: each worker reads the template once (engines.mjs). */
import { readTemplate as readFile } from '../../src/adapters/pglite/database-template.js'

export const readTemplate = async (file?: string): Promise<Blob | undefined> =>
  await (file === undefined ? testEngines.template() : readFile(file))
