/** The directory of hooks in the HOME of a trial. */
import { join } from 'node:path'
import type { Trial } from './trial.js'

/** The directory of hooks, as `install` makes it. */
export const hookFolder = ({ site: { home } }: Trial): string =>
  join(home, process.platform === 'darwin' ? 'Library/Application Support' : '.local/state', 'context-ledger', 'hooks')
