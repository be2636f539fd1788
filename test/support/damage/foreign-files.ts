/** Files that contain no conversation, or one of a program without an importer, with what `import` says of them. */

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

export const foreignFiles: readonly (readonly [name: string, content: string | Buffer, sentence: RegExp])[] = [
  ['empty.jsonl', '', /an empty file/u],
  ['blank.json', ' \n\n', /an empty file/u],
  ['export.json', Buffer.from('504b0304140000000800', 'hex'), /a ZIP archive.*Unpack/u],
  ['log.jsonl', Buffer.from('1f8b0800000000000003', 'hex'), /a compressed file.*Decompress/u],
  ['chat.md', '<!DOCTYPE html>\n<html><body>hello</body></html>\n', /an HTML page/u],
  ['photo.json', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), /a binary file/u],
  ['server.jsonl', '2026-03-10T08:00:00Z INFO started\n2026-03-10T08:00:01Z WARN slow\n', /a log/u],
  ['table.jsonl', 'role,content\nuser,hello\nassistant,hi\n', /a table of separated values/u],
  ['utf16.jsonl', Buffer.from('\uFEFF{"role":"user","content":"hi"}', 'utf16le'), /UTF-16.*iconv/u],
  [
    'history.jsonl',
    line({ display: 'hello', pastedContents: {}, timestamp: 1, project: '/srv' }),
    /prompts of Claude Code.*projects/u,
  ],
  ['prompts.jsonl', line({ session_id: 's', ts: 1, text: 'hello' }), /prompts of Codex CLI.*sessions/u],
  ['logs.json', line([{ sessionId: 's', messageId: 0, type: 'user', message: 'hello' }]), /prompts of Gemini CLI/u],
  ['runs.jsonl', line({ id: 'r', run_type: 'llm', trace_id: 't', inputs: {} }), /a trace of LangSmith/u],
  ['spans.json', line({ resourceSpans: [] }), /a trace of OpenTelemetry/u],
]
