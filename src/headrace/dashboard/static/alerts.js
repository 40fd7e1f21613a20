// Rules of alerts: added and deleted by button.
import {$, chosen, confirmed, request, toast} from "./shell.js";

const attempt = async (done, ...call) => {
  try {
    await request(...call);
    toast(done);
    setTimeout(() => location.reload(), 600);
  } catch (error) { toast(error.message, true); }
};

$("add-rule").addEventListener("click", async () => {
  const rule = await chosen($("rule"));
  if (rule) attempt("The rule is evaluated from now on", "POST", "/api/v1/alert-rules", rule);
});
document.addEventListener("click", async event => {
  const button = event.target.closest("[data-delete-rule]");
  if (!button || !await confirmed(`Delete the rule ${button.dataset.name}?`, "Its alerts are resolved.", "Delete")) return;
  attempt("Deleted", "DELETE", `/api/v1/alert-rules/${button.dataset.deleteRule}`);
});
