/** Groups of German words that the table of rules names, and the words that exclude a rule. */
/** Imperatives of work, without their endings. */
export const IMPERATIVES =
  'lösch|änder|fass|rühr|schreib|push|committ?|merg|deploy|start|stopp|schick|send|gib|geb|nimm|nehm|mach|lass|leg|setz|stell|verschieb|benutz|nutz|verwend|installier|führ|ruf|frag|antwort|buch|bestell|kopier|speicher|veröffentlich|post|teil|leit|log|logg|protokollier|bearbeit|pack|trag|zeig|öffne|schließ|aktualisier|entfern|kürz|lad|geh|bleib|halt|acht|prüf|test|wart|meld|informier|kontaktier|verrat|nenn|erwähn|versend|verschick|importier|exportier|forder|greif|überschreib|formatier|mail|zahl|überweis|stornier|versprich|versuch|beantwort|erstell|häng|füg|bau|implementier|refaktorier|brich|hör|sag|roll|eskalier|übergib|wend|reagier|bestätig|lehn|hol|benachrichtig|weis|biet|sprich|sprech|red|kommentier|formulier|rechn|rund|ersetz|bevorzug|wähl|arbeit|lies|les|tausch|starte|schalt|zieh|lager|verwahr|such|klär|konsultier|unterbrich|pausier|notier|dokumentier|markier|ordne|sortier|benenn|bezeichn|adressier|begrüß|beschränk|begrenz|tipp|kopple|greif|streich|schwärz|maskier|anonymisier|pseudonymisier|verschlüssel|verpixel|bereinig|tilg|hash|unterlass|verzicht|zitier|erklär|fang|beginn|ergänz|vermerk|fahr|verkauf|plan|erinner|mute|beende?|überspring|verlink|heft'
export const ORDER = String.raw`(?:${IMPERATIVES})(?:e|en sie|t|n sie)?(?: bitte)?`
export const DAYS =
  '(?:\\p{L}{3,}tag|mittwoch|sonnabend|wochenende)(?:e|en|s)?|nachts|werktags|abends|morgens|tagsüber|heiligabend|silvester'
export const TIME = String.raw`(?:\d{1,2}(?:[:.]\d\d)?|${DAYS}|mitternacht|mittag|(?:den |der )?(?:geschäfts|büro|öffnungs|arbeits|kern|ruhe)\p{L}*zeit(?:en)?|feierabend|monatsende|wartungsfenster|januar|februar|märz|april|juni|juli|august|september|oktober|november|dezember|dem \d+\.?|der nacht)`
export const NO = String.raw`(?:nicht|nichts|nie|niemals|niemand|kein\p{L}*|bitte nicht)`
export const ONLY = '(?:nur|ausschließlich|lediglich|einzig(?: und allein)?|allein)'
export const APPROVAL =
  '(?:freigaben?|genehmigung(?:en)?|zustimmung|bestätigung|einwilligung|erlaubnis|okay|ok|unterschrift(?:en)?|abnahme|segen|zusage|go|rückmeldung|rücksprache|einverständnis|vier-augen-prinzip|freizeichnung|review|gegenzeichnung|ja|prüfung durch|absprache|anweisung|auftrag|grünes licht)'
export const APPROVED =
  '(?:abgezeichnet|freigegeben|genehmigt|zugestimmt|bestätigt|unterschrieben|abgenommen|gegeben|abgesegnet|gegengezeichnet|geprüft|durchgesehen|gesehen|gelesen|einverstanden|erteilt|zustimmt|freigibt|bestätigt|unterschreibt|gegengelesen|abnickt|abgenickt|okay|ok|grünes licht|freigabe|genehmigung|zustimmung|absprache|rücksprache)'
export const TONGUE =
  '(?:deutsch|englisch|spanisch|französisch|italienisch|japanisch|chinesisch|polnisch|russisch|türkisch|niederländisch|portugiesisch|koreanisch|schweizerdeutsch)'
export const STANDING = String.raw`(?:immer|jede\p{L}*|stets|grundsätzlich|künftig|zukünftig|in zukunft|nie|niemals|vorher|bevor|zuerst|nur|jeweils|generell|ab (?:sofort|jetzt)|möglichst|automatisch|alle\p{L}*|kurz|keine?\p{L}*|nicht mehr|standardmäßig|jedes mal|von jetzt an|konsequent)`
export const WIPE = String.raw`(?:entfern|lösch|streich|schwärz|anonymisier|pseudonymisier|maskier|verschlüssel|verpixel|unkenntlich|bereinig|tilg|hash|verfremd|zensier|ausblend|ausx|kürz|ersetz|verberg)`
/** A report of the past, a wish or a plan of the speaker. */
export const STORY =
  /(?<!\p{L})(?:ich|er|war|waren|hat|hatte|hatten|habe|haben|wurde|wurden|wollte|wollten|konnte|konnten|durfte|durften|musste|mussten|ging|kam|lief|lass uns|mein|meine|meinem|damals|früher|gestern|bisher|möglich|man)(?!\p{L})/u
export const PAST =
  /(?<!\p{L})(?:war|waren|hatte|hatten|wurde|wurden|lief|liefen|ging|gingen|musste|mussten|durfte|durften|konnte|konnten|gestern|früher|damals|bisher|letzte\p{L}*|tarif|kostenlos\p{L}*)(?!\p{L})/u
export const ONCE =
  /(?<!\p{L})(?:jetzt(?! an)|diesmal|heute(?! an)|gleich noch|nur dieses mal|in (?:dieser|diesem) (?:mail|absatz|satz|folie|nachricht|zeile|abschnitt|bild)|noch mal|nochmal|hier auf)(?!\p{L})|ge\p{L}+(?:en|t) (?:ist|sind|wurde|hat)(?!\p{L})/u
