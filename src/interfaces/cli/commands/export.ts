/**
 * `export`: the events of the log for programs that watch, one JSON document a line; or one conversation as a document.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { RecordedEvent } from '../../../domain/events/index.js'
import type { Ledger } from '../../../library/ledger.js'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { line, write as print } from '../output.js'
import type { DocumentFormat } from '../../../library/conversation-export.js'
import { withLedger } from '../session.js'

const FORMATS = ['cloudevents', 'ocsf', 'otel'] as const
type Format = (typeof FORMATS)[number]
const DOCUMENTS = ['atif', 'openai', 'anthropic', 'markdown'] as const satisfies readonly DocumentFormat[]

/** Writes an event as a line; undefined if the format has none for it. */
type Writer = (event: RecordedEvent) => Record<string, unknown> | undefined

async function writerOf(ledger: Ledger, format: Format, hasContent: boolean): Promise<Writer> {
  const [
    { cloudEvent, sourceOf },
    { conversationOf },
    { withoutContent },
    { ocsfEvent },
    { SpanWriter },
    { packageVersion },
  ] = await Promise.all([
    import('../../service/cloud-event.js'),
    import('../../../domain/values/ids.js'),
    import('../export/without-content.js'),
    import('../export/ocsf.js'),
    import('../export/otel-spans.js'),
    import('../../../lib/package-root.js'),
  ])
  const source = sourceOf((await ledger.admin.identity()).origin)
  const spans = new SpanWriter(source, packageVersion(), hasContent)
  const idOf = ({ stream }: RecordedEvent): string => conversationOf(stream) ?? stream
  const dataOf = (event: RecordedEvent): unknown => (hasContent ? event.data : withoutContent(event))
  const writers: Readonly<Record<Format, Writer>> = {
    cloudevents: (event) => cloudEvent(source, event, idOf(event), dataOf(event)),
    ocsf: (event) => ocsfEvent(source, event, idOf(event), dataOf(event)),
    otel: (event) => spans.lineOf(event, idOf(event)),
  }
  return writers[format]
}

function formatOf(args: CommandArgs): Format | DocumentFormat {
  const all = [...FORMATS, ...DOCUMENTS]
  const format = all.find((each) => each === args.text('format'))
  if (format === undefined) throw new LedgerError('Usage', `name a format with --format: ${all.join(', ')}`)
  return format
}

const isDocument = (format: Format | DocumentFormat): format is DocumentFormat =>
  DOCUMENTS.some((each) => each === format)

/** Prints a conversation as one document. */
async function printDocument(args: CommandArgs, format: DocumentFormat): Promise<void> {
  const name = args.text('conversation')
  if (name === undefined) throw new LedgerError('Usage', `--format ${format} writes one conversation: name it`)
  if (args.is('follow') || args.text('after') !== undefined)
    throw new LedgerError('Usage', `--follow and --after are for formats of events, not for ${format}`)
  const [{ conversationNamed }, { exportedDocument }, { notePrinted }] = await Promise.all([
    import('../find-conversation.js'),
    import('../../../library/conversation-export.js'),
    import('../written-copies.js'),
  ])
  await withLedger(args.flags, { reads: true }, async ({ ledger, config }) => {
    const redact = await ledger.admin.secrets.redactor({ redaction: 'on' })
    const conversationId = await conversationNamed(ledger, name)
    const document = await exportedDocument(ledger, conversationId, format, redact)
    await notePrinted(config.store, `export --format ${format}`, conversationId)
    await print(document)
  })
}

export const exportEvents: CliCommand = {
  words: 'export [conversation]',
  describe: 'Export events for programs that watch, without texts, or a conversation as ATIF, messages or Markdown',
  uses: ['open'],
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id of the conversation [default: all]' } },
  options: {
    format: text('Format: of the lines, or of the document', [...FORMATS, ...DOCUMENTS]),
    content: toggle('Include the texts of messages and summaries; secrets in them are replaced'),
    follow: toggle('Continue with new events until interrupted'),
    after: text('Only events after this position, to continue an export'),
  },
  examples: [
    ['$0 export --format ocsf --follow', 'for a security team’s collector'],
    ['$0 export "date bug" --format atif > trajectory.json', 'a whole conversation, with its texts'],
  ],
  async run(args) {
    const format = formatOf(args)
    if (isDocument(format)) {
      await printDocument(args, format)
      return
    }
    const after = args.whole('after') ?? -1
    const name = args.text('conversation')
    const [{ watchInterrupt }, { conversationNamed }, { toWire }, { exportedEvents }, { isFolder }, { notePrinted }] =
      await Promise.all([
        import('../interrupt.js'),
        import('../find-conversation.js'),
        import('../../../domain/values/revision.js'),
        import('../export/exported-events.js'),
        import('../config/load-config.js'),
        import('../written-copies.js'),
      ])
    const interrupt = watchInterrupt()
    try {
      await withLedger(args.flags, { reads: true }, async ({ ledger, config }) => {
        if (args.is('follow') && isFolder(config.store))
          throw new LedgerError(
            'Usage',
            '--follow needs a ledger on a server, because a process that stays keeps others from writing to a directory: export regularly with --after POSITION',
          )
        const conversationId = name === undefined ? undefined : await conversationNamed(ledger, name)
        if (args.is('content')) await notePrinted(config.store, `export --format ${format} --content`, conversationId)
        const write = await writerOf(ledger, format, args.is('content'))
        const redact = await ledger.admin.secrets.redactor({ redaction: 'on' })
        const selection = { conversationId, after, follows: args.is('follow'), signal: interrupt.signal }
        for await (const event of exportedEvents(ledger, selection)) {
          const document = write(event)
          // Older events may have secrets.
          if (document !== undefined) await line(toWire(redact(document)))
        }
      })
    } finally {
      interrupt.forget()
    }
  },
}
