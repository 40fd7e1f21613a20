// Print the pages that the search of the built site finds for each query, best first, as JSON.
// Runs the site's own worker with its own index, so the ranking is that of a browser.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [site, ...queries] = process.argv.slice(2);
const workers = path.join(site, "assets/javascripts/workers");
const script = fs.readdirSync(workers).find(name => /^search\..*\.js$/.test(name));
const {config, docs} = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"));

let receive, answered;
const scope = {
  console,
  addEventListener: (_, listener) => { receive = listener; },
  postMessage: message => answered(message),
};
scope.self = scope;
vm.runInNewContext(fs.readFileSync(path.join(workers, script), "utf8"), scope);
const ask = data => new Promise(resolve => { answered = resolve; receive({data}); });

(async () => {
  const [SETUP, QUERY] = [0, 2];
  await ask({type: SETUP, data: {config, docs, options: {suggest: false}}});
  const pages = {};
  for (const query of queries) {
    const {data} = await ask({type: QUERY, data: query});
    pages[query] = data.items.map(([first]) => first.location.split("#")[0]);
  }
  console.log(JSON.stringify(pages));
})();
