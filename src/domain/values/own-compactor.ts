/** The name under which a program's session records that the plugin of this package made a summary. */
export const OWN_COMPACTOR = 'context-ledger'

/** The beginning of each such summary. Programs without a field for its author have only the text. */
export const OWN_SUMMARY_BEGINNING = '[Context Summary by Context Ledger — '
