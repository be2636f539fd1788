import { z } from 'zod'
import { short, sourceText } from './lines.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { id, time } from './fields.js'
import { whereSchema } from './source.js'
import { wholeTexts } from './texts.js'

export const conversationObserved = defineEvent({
  description:
    'another program owns this conversation, and later events were read from its transcript: that program makes the context until an edition of the ledger is adopted or a cycle undone',
  version: 1,
  activity: 'create',
  label: 'Imported',
  withoutContent: ['program', 'programVersion', 'sourceId', 'parent', 'startedAt'],
  texts: wholeTexts({ title: 'optional', cwd: 'optional' }),
  schema: z.object({
    /** The program's name, as in `import --from`. */
    program: id,
    programVersion: z.string().optional(),
    /** The program's own id of the conversation. */
    sourceId: id,
    /** The parent conversation, by the program's own id and by the ledger's. */
    parent: z
      .object({ sourceId: id, conversationId: id, how: z.enum(['sub-agent', 'fork']), callId: id.optional() })
      .optional(),
    title: z.string().optional(),
    cwd: z.string().optional(),
    startedAt: time.optional(),
    where: whereSchema,
  }),
  describe: ({ program, programVersion, sourceId, parent, title, where }) => {
    const version = programVersion === undefined ? '' : ` ${printable(programVersion)}`
    const from =
      parent === undefined
        ? ''
        : `, ${parent.how === 'fork' ? 'forked from' : 'called by'} ${printable(parent.conversationId)}`
    return `${printable(program)}${version} session ${printable(sourceId)}${from}${title === undefined ? '' : `: ${short(title)}`} (${sourceText(where)})`
  },
  describeShortly: ({ program, programVersion, parent, title }) => {
    const origin = parent === undefined ? '' : parent.how === 'fork' ? ', a fork' : ', called by another conversation'
    return `from ${program}${programVersion === undefined ? '' : ` ${programVersion}`}${origin}${title === undefined ? '' : `: ${short(title)}`}`
  },
})
