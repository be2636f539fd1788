/**
 * Roo Code: a task is one file of messages, and each message names the summary or truncation that hides it. Older
 * versions store blocks of Anthropic's API, newer ones (`version: 2`) messages of the AI SDK.
 */
import { join } from 'node:path'
import { createTaskReader } from './task.js'
import { extensionHomes, isOfRoo, taskFileAt, taskSiblings } from './task-files.js'
import type { Importer } from './transcript.js'

/** The importer of Roo Code. */
export const roo: Importer = {
  program: 'roo',
  title: 'Roo Code',
  homes: (environment, home) =>
    extensionHomes('rooveterinaryinc.roo-cline', environment, home).map((folder) => join(folder, 'tasks')),
  recognize: (head) => (taskFileAt(head) !== undefined && isOfRoo(head) ? 'json' : undefined),
  siblings: taskSiblings,
  makesContentIds: true,
  read: createTaskReader,
}
